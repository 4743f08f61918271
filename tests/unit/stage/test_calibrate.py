"""What base's run says, and when it says that nothing can be judged."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from trivet.errors import ProbeError
from trivet.model import Failure, RunEnd, RunRecord
from trivet.model import TestResult as Result
from trivet.stage.calibrate import calibrate, calibration_of, check_startable


def record(how: str = "closed", detail: str = "", **fields: object) -> RunRecord:
    values: dict[str, object] = {
        "isolation": "shared",
        "collected": (),
        "results": (),
        "errors": (),
        "signs": (),
        "seconds": 1.0,
        "environment": (("python", "3.12.1"),),
        **fields,
    }
    return RunRecord(end=RunEnd(how=how, detail=detail), **values)  # type: ignore[arg-type]


def test_collected_tests_that_were_not_reached_are_red() -> None:
    """Tests that base collected and did not reach are expected, and red."""
    one = Result(id="f::a", file="f", outcome="passed", seconds=0.1, phases=())
    found = calibration_of(record("signal", "SIGSEGV", collected=("f::a", "f::b"), results=(one,)))
    assert {test.id: test.outcome for test in found.tests} == {"f::a": "passed", "f::b": "error"}


def test_generated_tests_are_named() -> None:
    """The ids of generated tests are taken from the probe's notes."""
    found = calibration_of(record(notes=({"k": "generated", "ids": ["f::a"]}, {"k": "control", "ids": ["x"]})))
    assert found.generated == ("f::a",)


def test_an_interpreter_without_pytest_is_no_red_base() -> None:
    """An interpreter without pytest stops the judgement with a remedy."""
    with pytest.raises(ProbeError) as caught:
        check_startable(record("refused", "ModuleNotFoundError: No module named 'pytest'"), own_runner=False)
    assert "Install pytest" in caught.value.hint


def test_a_project_that_the_runner_needs_may_be_broken_on_base() -> None:
    """A project that the runner itself needs may be broken on base."""
    check_startable(record("refused", "ImportError: pluggy"), own_runner=True)


def test_a_dead_start_stops_the_judgement() -> None:
    """An interpreter that ends before its first record stops the judgement."""
    with pytest.raises(ProbeError, match="does not start"):
        check_startable(record("exit", "exit status 127", environment=(), output="no such library"), own_runner=False)


def test_code_from_elsewhere_stops_the_judgement() -> None:
    """Production code that base's tests import from elsewhere stops the judgement."""
    with pytest.raises(ProbeError, match="site-packages"):
        check_startable(record(environment=(("python", "3"), ("origin:shop", "/v/site-packages/shop/__init__.py"))), own_runner=False)


class Base:
    """Stands for a runner on base: each run gives the next record; keeps which tests were left out."""

    def __init__(self, *records: RunRecord) -> None:
        self.records, self.dropped = list(records), []
        self.stand = SimpleNamespace(own_runner=())
        self.policy = SimpleNamespace(exclude=(SimpleNamespace(id="f::x"),))

    def job(self, _tests: object, drop: tuple[str, ...] = ()) -> tuple[str, ...]:
        return tuple(drop)

    def run(self, job: tuple[str, ...]) -> RunRecord:
        self.dropped.append(job)
        return self.records.pop(0)


def ended(name: str, outcome: str = "passed", **fields: object) -> Result:
    return Result(id=name, file="f", outcome=outcome, seconds=0.1, phases=(), **fields)  # type: ignore[arg-type]


def test_what_comes_after_a_test_that_hangs_on_base_is_known() -> None:
    """Base runs again without the test in which it ended: its skips are base's own, and that test stays red."""
    stuck = ended("f::b", "error", failure=Failure(type="Incomplete", message="the test did not run to its end"))
    names = ("f::a", "f::b", "f::c")
    hung = record("limit", "test_timeout", collected=names, results=(ended("f::a"), stuck))
    base = Base(hung, record(collected=("f::a", "f::c"), results=(ended("f::a"), ended("f::c", "skipped", reason="not here", env_skip=True))))
    found = calibrate(base, ["f"])  # type: ignore[arg-type]
    assert {test.id: test.outcome for test in found.tests} == {"f::a": "passed", "f::b": "error", "f::c": "skipped"}
    assert base.dropped == [(), ("f::x", "f::b")]


def test_a_base_that_ends_for_another_reason_runs_once() -> None:
    """A run that ended between tests says nothing of what to leave out."""
    base = Base(record("signal", "SIGSEGV", collected=("f::a", "f::b"), results=(ended("f::a"),)))
    assert {test.outcome for test in calibrate(base, ["f"]).tests} == {"passed", "error"}  # type: ignore[arg-type]
    assert base.dropped == [()]
