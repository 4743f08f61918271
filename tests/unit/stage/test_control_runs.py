"""Running negative controls: admission on base, judgement on head."""

from trivet.model import Calibrated, Calibration, Failure, RunEnd, RunRecord
from trivet.model import TestResult as Result
from trivet.stage import control_runs
from trivet.stage.controls import Book

FILE = "tests/sealed/test_a.py"
BOOK = Book({FILE: "def test_a():\n    assert f() == 1\n\ndef test_b():\n    assert f() == 1\n\ndef test_c():\n    f()\n"})
IDS = [f"{FILE}::test_{name}" for name in "abc"]
BASE = Calibration(tests=tuple(Calibrated(id=name, file=FILE, outcome="passed", seconds=0.1) for name in IDS), errors=(), end=RunEnd(how="closed"))


def result(name, outcome, line=0):
    failure = Failure(type="AssertionError", message="", file=FILE, line=line) if outcome == "failed" else None
    return Result(id=name, file=FILE, outcome=outcome, seconds=0.0, phases=(), failure=failure)


def record(*results, end=None):
    return RunRecord(
        isolation="shared", collected=(), results=results, errors=(), signs=(), end=end or RunEnd(how="closed"), seconds=0.0
    )


def honest(files, fields):
    return record(*(result(one["id"], "failed", one["line"]) for one in fields.get("controls", ())))


def test_admission_fills_the_controls_of_the_calibration():
    said = []
    calibration = control_runs.admit(BOOK, BASE, honest, note=said.append)
    assert [bool(test.controls) for test in calibration.tests] == [True, True, True]
    assert said == ["negative controls: 3 of 3 passing tests, 1 of them with a canary only"]


def test_a_control_that_hangs_on_base_is_not_admitted_and_keeps_no_other_from_it():
    def hangs(files, fields):
        names = [one["id"] for one in fields["controls"]]
        if IDS[0] in names:
            return record(end=RunEnd(how="timeout", test=IDS[0]))
        return honest(files, fields)

    calibration = control_runs.admit(BOOK, BASE, hangs)
    assert [bool(test.controls) for test in calibration.tests] == [False, True, True]


def test_honest_code_makes_every_control_red():
    calibration = control_runs.admit(BOOK, BASE, honest)
    rows = control_runs.judge(BOOK, calibration, IDS, honest, mode="all", secret=5)
    assert {row.outcome for row in rows} == {"red"}
    assert len(rows) == 3


def test_a_control_that_passes_on_head_is_reported():
    calibration = control_runs.admit(BOOK, BASE, honest)

    def fooled(files, fields):
        return record(*(result(name, "passed") for name in fields["ids"]))

    assert {row.outcome for row in control_runs.judge(BOOK, calibration, IDS, fooled, mode="all", secret=5)} == {"passed"}


def test_a_control_that_hangs_on_head_has_not_been_seen_red():
    calibration = control_runs.admit(BOOK, BASE, honest)

    def hangs(files, fields):
        if IDS[1] in fields["ids"]:
            return record(end=RunEnd(how="timeout", test=IDS[1]))
        return honest(files, fields)

    rows = control_runs.judge(BOOK, calibration, IDS, hangs, mode="all", secret=5)
    assert {row.id: row.outcome for row in rows} == {IDS[0]: "red", IDS[1]: "timeout", IDS[2]: "red"}


def test_a_run_that_dies_outside_of_any_test_leaves_its_controls_missing():
    calibration = control_runs.admit(BOOK, BASE, honest)
    rows = control_runs.judge(BOOK, calibration, IDS, lambda files, fields: record(end=RunEnd(how="exit")), mode="all", secret=5)
    assert {row.outcome for row in rows} == {"missing"}


def test_a_control_that_fails_elsewhere_counts_only_if_its_original_passes_in_the_same_company():
    calibration = control_runs.admit(BOOK, BASE, honest)

    def elsewhere(files, fields):
        if fields.get("mode") == "control":
            return record(*(result(one["id"], "failed", 99) for one in fields["controls"]))
        return record(result(IDS[0], "passed"), result(IDS[1], "failed", 2))

    assert [row.id for row in control_runs.judge(BOOK, calibration, IDS[:2], elsewhere, mode="all", secret=5)] == IDS[:1]
