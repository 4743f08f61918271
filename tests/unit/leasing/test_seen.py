"""When leased tests were last seen failing."""

from __future__ import annotations

from pathlib import Path

from trivet.leasing import seen
from trivet.leasing.ages import _moments
from trivet.model import Failure, Lease, LeaseMatch
from trivet.model import TestResult as Result
from trivet.stage.cache import Cache

FILE = "tests/sealed/test_a.py"


def match(signature: str = "ValueError: x") -> LeaseMatch:
    lease = Lease(qualname="test_a.test_b", digest="0" * 16, signature=signature, expires_at=1.0, owner="o", reason="r")
    return LeaseMatch(file=FILE, function="test_b", lease=lease)


def lifted(outcome: str) -> Result:
    failure = Failure(type="ValueError", message="x") if outcome == "failed" else None
    return Result(id=f"{FILE}::test_b[1]", file=FILE, outcome=outcome, seconds=0.0, phases=(), lifted=True, failure=failure)  # type: ignore[arg-type]


def test_a_failure_and_a_pass_are_remembered_each_with_its_moment(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c")
    assert seen.last(cache, match()) == seen.Sighting()
    seen.note(cache, [match()], [lifted("passed"), lifted("failed")], 5.0)
    seen.note(cache, [match()], [lifted("passed")], 7.0)
    seen.note(cache, [match()], [], 9.0)
    assert seen.last(cache, match()) == seen.Sighting(failed=5.0, passed=7.0)
    assert seen.last(cache, match("ValueError: y")) == seen.Sighting()


def test_a_line_has_the_moment_of_its_commit_and_none_before_one() -> None:
    text = b"a" * 40 + b" 1 1 1\nauthor-time 50\n\tx\n" + b"0" * 40 + b" 2 2 1\nauthor-time 60\n\ty\n" + b"a" * 40 + b" 3 3\n\tz\n"
    assert _moments(text) == {1: 50.0, 3: 50.0}
