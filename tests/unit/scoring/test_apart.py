"""Which sealed files run split under ``auto``."""

from __future__ import annotations

import pytest

from trivet import model
from trivet.model import Calibrated, Calibration, Failure, Outcome, Override, RunEnd, RunRecord, ScorePolicy
from trivet.scoring import apart

ENDED = RunEnd(how="closed")


def shown(name: str, outcome: Outcome = "passed", seconds: float = 0.1, failure: str = "") -> Calibrated:
    """What base shows in shared isolation."""
    why = Failure(type=failure, message="m") if failure else None
    return Calibrated(id=name, file=name.split("::", maxsplit=1)[0], outcome=outcome, seconds=seconds, failure=why)


def ran(name: str, outcome: Outcome = "passed", seconds: float = 0.1, failure: str = "") -> model.TestResult:
    """What it shows split."""
    why = Failure(type=failure, message="m") if failure else None
    return model.TestResult(id=name, file=name.split("::", maxsplit=1)[0], outcome=outcome, seconds=seconds, phases=(), failure=why)


def judged(tests: list[Calibrated], results: list[model.TestResult], end: RunEnd = ENDED) -> Calibration:
    """Compare two runs."""
    record = RunRecord(isolation="split", collected=(), results=tuple(results), errors=(), signs=(), end=end, seconds=1.0)
    calibration = Calibration(tests=tuple(tests), errors=(), end=ENDED)
    return apart.judged(calibration, record, 3.0, sorted({test.file for test in tests}))


def test_a_file_that_ends_the_same_runs_split() -> None:
    """Green stays green, red stays red for the same reason."""
    found = judged([shown("a::x"), shown("a::y", "failed", failure="AssertionError")], [ran("a::x"), ran("a::y", "failed", failure="AssertionError")])
    assert found.split_files == ("a",)
    assert [test.split for test in found.tests] == ["passes", "passes"]


@pytest.mark.parametrize(
    ("results", "mark"),
    [
        ([ran("a::x", "failed", failure="AssertionError")], "fails"),
        ([ran("a::x", "failed", failure="trivet_probe.split_errors.SplitUnsupported")], "cannot"),
        ([], "unknown"),
    ],
)
def test_a_file_with_a_test_that_ends_otherwise_stays_shared(results: list[model.TestResult], mark: str) -> None:
    """One test that fails, cannot cross or did not run is enough."""
    found = judged([shown("a::x"), shown("b::x")], [*results, ran("b::x")])
    assert found.split_files == ("b",)
    assert found.tests[0].split == mark


def test_a_red_test_must_be_red_for_the_same_reason() -> None:
    """Another exception on base means that the split changed what the test sees."""
    found = judged([shown("a::x", "failed", failure="AssertionError")], [ran("a::x", "failed", failure="TypeError")])
    assert found.split_files == ()


def test_a_file_over_its_budget_stays_shared() -> None:
    """Times below the floor are noise; above it the budget counts."""
    found = judged([shown("a::x", seconds=1.0), shown("b::x", seconds=0.001)], [ran("a::x", seconds=3.5), ran("b::x", seconds=0.1)])
    assert found.split_files == ("b",)


def test_the_last_override_that_matches_counts() -> None:
    """The policy's word for one file goes before the one for all."""
    policy = ScorePolicy(isolation="auto", override=(Override(path="tests/**", isolation="split"), Override(path="tests/a.py", isolation="shared")))
    assert [apart.asked(policy, file) for file in ("tests/a.py", "tests/b.py", "c.py")] == ["shared", "split", "auto"]


def test_what_must_run_split_does_so_whatever_base_shows() -> None:
    """Only ``auto`` asks base."""
    calibration = Calibration(tests=(), errors=(), end=ENDED, split_files=("a",))
    assert apart.split_files(ScorePolicy(isolation="split"), calibration, ("a", "b")) == {"a", "b"}
    assert apart.split_files(ScorePolicy(isolation="auto"), calibration, ("a", "b")) == {"a"}
    assert apart.split_files(ScorePolicy(isolation="shared"), calibration, ("a", "b")) == frozenset()
