"""How a job is divided, and how a trial of split files ends early."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trivet.model import Calibrated, Calibration, Failure, RunEnd, RunRecord, ScorePolicy
from trivet.model import TestResult as Result
from trivet.probe import wire
from trivet.scoring import apart
from trivet.stage import parted
from trivet.stage.runner import Stand

CLOSED = RunEnd(how="closed")


def runner(split: set[str], weights: dict[str, float]) -> parted.PartedRunner:
    stand = Stand(root=Path("/t"), source_roots=(), source_names=())
    wall: Any = None
    return parted.PartedRunner(
        stand=stand, policy=ScorePolicy(), wall=wall, python=Path("/p"), scratch=Path("/s"), split_files=frozenset(split), weights=weights
    )


def divided(one: parted.PartedRunner, files: list[str]) -> list[tuple[str, list[str]]]:
    return [(part.isolation, part.files) for part in one.parts(wire.Job(root="/t", files=files, paths=[], nonce="n"))]


def test_each_file_runs_once_in_its_isolation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file runs once, in the isolation it has; a long split part is divided by time."""
    monkeypatch.setattr(parted.os, "cpu_count", lambda: 2)
    files = ["a", "b", "c", "d"]
    assert divided(runner(set(), {}), files) == [("shared", files)]
    assert divided(runner({"a", "b"}, {}), files) == [("shared", ["c", "d"]), ("split", ["a", "b"])]
    heavy = {"a": 3.0, "b": 1.0, "c": 1.0}
    assert divided(runner({"a", "b", "c"}, heavy), files) == [("shared", ["d"]), ("split", ["a"]), ("split", ["b", "c"])]
    assert divided(runner(set(files), {}), files) == [("split", files)]


def test_a_record_can_be_cut_to_some_files() -> None:
    """A record can be cut to some files; how it ended stays."""
    results = tuple(Result(id=f"{file}::t", file=file, outcome="passed", seconds=0, phases=()) for file in "ab")
    whole = RunRecord(
        isolation="shared", collected=("a::t", "b::t"), results=results, errors=(("b", "x"),), signs=(), end=CLOSED, seconds=1.0
    )
    cut = parted.only(whole, frozenset("a"))
    assert (cut.collected, [one.id for one in cut.results], cut.errors, cut.end) == (("a::t",), ["a::t"], (), CLOSED)


def test_the_terms_of_a_trial_follow_base() -> None:
    """A file may take the budget's times its time on base; what base passes must pass."""
    rows = (("a::t", "passed", 2.0), ("a::u", "failed", 1.0), ("b::t", "passed", 0.0))
    tests = tuple(Calibrated(id=name, file=name[0], outcome=out, seconds=s) for name, out, s in rows)  # type: ignore[arg-type]
    terms = apart.terms(Calibration(tests=tests, errors=(), end=CLOSED), 3.0, ["a", "b"])
    assert terms["seconds"] == {"a": 9.0, "b": 3.0 * apart.FLOOR_S}
    assert terms["total"] == apart.TRIAL_S
    assert terms["green"] == ["a::t", "b::t"]


def test_a_file_that_fails_a_trial_is_left() -> None:
    """A file is lost once a test that must pass does not, or its time is over."""
    from trivet.probe import watch

    trial = watch.Trial({"seconds": {"a": 1.0, "b": 1.0, "d": 9.0}, "total": 4.0, "green": ["a::t"]})
    trial.saw("a::u", {"s": 0.1, "out": "failed"})
    trial.saw("c::t", {"s": 9.0, "out": "failed"})
    assert trial.lost == set()
    trial.saw("a::t", {"s": 0.1, "out": "failed"})
    trial.saw("b::t", {"s": 1.5, "out": "passed"})
    assert trial.lost == {"a", "b"}
    trial.saw("d::t", {"s": 5.0, "out": "passed"})
    assert trial.lost == {"a", "b", "d"}
    assert watch.Trial({}).lost == set()


IDENTITY = "def test_a(x, y):\n    assert x {} y\n\n\ndef test_b(x):\n    assert x is None\n"


@pytest.mark.parametrize(("operator", "red", "unsure"), [("is", "a", True), ("is not", "a", True), ("==", "a", False), ("is", "b", False)])
def test_a_red_test_that_compares_identity_keeps_its_file_shared(tmp_path: Path, operator: str, red: str, unsure: bool) -> None:
    """A test that is red on base and compares two values by identity keeps its file shared."""
    (tmp_path / "f.py").write_text(IDENTITY.format(operator))
    test = Calibrated(id=f"f.py::test_{red}[is]", file="f.py", outcome="failed", seconds=0.1)
    assert bool(apart.compares_identity(tmp_path, Calibration(tests=(test,), errors=(), end=CLOSED))) is unsure


def test_what_cannot_cross_is_seen_by_its_exception() -> None:
    """A file of a split run with a test that met something that cannot cross is named; in a shared run nothing is."""
    failure = Failure(type="SplitUnsupported", message="no")
    bad = Result(id="f::t", file="f", outcome="failed", seconds=0, phases=(), failure=failure)
    record = RunRecord(isolation="split", collected=("f::t",), results=(bad,), errors=(), signs=(), end=CLOSED, seconds=1.0)
    assert apart.cannot_cross(record) == {"f"}
    assert apart.cannot_cross(replace(record, isolation="shared")) == frozenset()
