"""Planning negative controls and reading what became of them."""

import dataclasses

from trivet.model import Calibrated, Calibration, Failure, RunEnd, RunRecord
from trivet.model import TestResult as Result
from trivet.stage import control_runs, controls

TEXT = """\
import pytest

def check(value):
    assert value == 3

def test_plain():
    assert f() == 3

@pytest.mark.parametrize("x", [1, 2])
def test_many(x):
    assert f(x) == x
    assert g(x)

def test_raises():
    with pytest.raises(ValueError):
        f()

def test_by_helper():
    check(f())

def test_nothing():
    f()
"""
FILE = "tests/sealed/test_a.py"
IDS = [f"{FILE}::{name}" for name in ("test_plain", "test_many[1]", "test_many[2]", "test_raises", "test_by_helper", "test_nothing")]


def record(outcomes, *, end=None, notes=()):
    results = tuple(
        Result(id=name, file=FILE, outcome=outcome, seconds=0.0, phases=(), failure=failure) for name, (outcome, failure) in outcomes.items()
    )
    return RunRecord(
        isolation="shared", collected=tuple(outcomes), results=results, errors=(), signs=(), end=end or RunEnd(how="closed"), seconds=0.0, notes=tuple(notes)
    )


def red(one):
    return ("failed", Failure(type="AssertionError", message="", file=one.file, line=one.line))


def calibration(outcome="passed", admitted=None):
    tests = tuple(Calibrated(id=name, file=FILE, outcome=outcome, seconds=0.0, controls=(admitted or {}).get(name, ())) for name in IDS)
    return Calibration(tests=tests, errors=(), end=RunEnd(how="closed"))


def admit_everything(book, attempts=controls.ATTEMPTS):
    admitted: dict = {}
    for attempt in range(attempts):
        batch = controls.admission(book, IDS, attempt, admitted)
        for name, keys in controls.seen_red(record({one.id: red(one) for one in batch}), batch).items():
            admitted[name] = admitted.get(name, ()) + keys
    return admitted


def test_every_test_with_an_assertion_gets_a_value_control_and_the_others_a_canary():
    admitted = admit_everything(controls.Book({FILE: TEXT}))
    assert set(admitted) == set(IDS)
    assert {kind for name in IDS[:-1] for kind, _ in admitted[name]} >= {"slight", "raises"}
    assert [kind for kind, _ in admitted[IDS[-1]]] == ["canary"]


def test_a_test_without_assertions_of_its_own_is_altered_in_its_helper():
    book = controls.Book({FILE: TEXT})
    assert {(one.file, one.line) for one in book.of(f"{FILE}::test_by_helper") if one.kind != "canary"} == {(FILE, 4)}


def test_a_helper_in_another_sealed_file_is_found_and_named():
    helper = "tests/sealed/helpers.py"
    book = controls.Book({FILE: "from helpers import check\n\ndef test_x():\n    check(f())\n", helper: "def check(v):\n    assert v == 1\n"})
    one = book.of(f"{FILE}::test_x")[0]
    assert (one.file, one.line, one.key) == (helper, 2, (f"slight@{helper}", 2))
    assert book.find(f"{FILE}::test_x", one.key) is not None


def test_an_inherited_test_is_altered_where_it_is_written():
    text = "class Base:\n    def test_x(self):\n        assert f() == 1\n\nclass TestA(Base):\n    pass\n"
    assert controls.Book({FILE: text}).of(f"{FILE}::TestA::test_x")[0].line == 3


def test_a_file_that_cannot_be_parsed_has_no_controls():
    assert controls.Book({FILE: "def test_x(:\n"}).of(f"{FILE}::test_x") == ()


def test_only_what_was_red_at_its_line_is_admitted():
    book = controls.Book({FILE: TEXT})
    batch = controls.admission(book, IDS, 0, {})
    outcomes = {one.id: red(one) for one in batch}
    outcomes[IDS[0]] = ("failed", Failure(type="KeyError", message="", file=FILE, line=99))
    outcomes[IDS[1]] = ("passed", None)
    admitted = controls.seen_red(record(outcomes), batch)
    assert IDS[0] not in admitted
    assert IDS[1] not in admitted
    assert IDS[2] in admitted


def test_later_admission_runs_leave_tests_with_a_control_alone():
    book = controls.Book({FILE: TEXT})
    admitted = dict.fromkeys(IDS[:3], (("slight", 1),))
    assert {one.id for one in controls.admission(book, IDS, 2, admitted)}.isdisjoint(IDS[:3])


def test_all_controls_cover_each_admitted_test_once_and_alter_a_place_only_once():
    book = controls.Book({FILE: TEXT})
    admitted = admit_everything(book)
    (batch,) = controls.plan(book, calibration(admitted=admitted), IDS, mode="all", secret=1)
    assert [one.id for one in batch] == IDS
    assert len({(one.file, one.line, one.kind) for one in batch}) == len({(one.file, one.line) for one in batch})


def test_a_sample_holds_two_tests_of_each_file_one_of_them_with_an_altered_value():
    book = controls.Book({FILE: TEXT})
    admitted = admit_everything(book)
    chosen = set()
    for secret in range(20):
        (batch,) = controls.plan(book, calibration(admitted=admitted), IDS, mode="sample", secret=secret)
        assert len(batch) == 2
        assert {one.kind for one in batch} & {"slight", "gross", "sentinel"}
        chosen |= {one.id for one in batch}
    assert len(chosen) > 3
    assert controls.plan(book, calibration(admitted=admitted), IDS, mode="sample", secret=7) == controls.plan(
        book, calibration(admitted=admitted), IDS, mode="sample", secret=7
    )


def test_switched_off_means_none():
    book = controls.Book({FILE: TEXT})
    assert controls.plan(book, calibration(admitted=admit_everything(book)), IDS, mode="off", secret=1) == ()


def test_only_tests_that_passed_on_head_have_controls():
    book = controls.Book({FILE: TEXT})
    (batch,) = controls.plan(book, calibration(admitted=admit_everything(book)), IDS[:1], mode="all", secret=1)
    assert [one.id for one in batch] == IDS[:1]


def test_a_test_that_turned_green_gets_controls_of_two_kinds_without_admission():
    book = controls.Book({FILE: TEXT})
    first, second, third = controls.plan(book, calibration("failed"), IDS[:1], mode="sample", secret=3)
    assert (first[0].kind, first[0].admitted) == ("slight", False)
    assert second[0].kind == "gross"
    assert third[0].kind not in (first[0].kind, second[0].kind)


def test_the_controls_of_a_test_that_turned_green_lie_at_different_assertions():
    text = "def test_x():\n    with pytest.raises(E) as c:\n        f()\n    assert c.value.col == 3\n"
    test = f"{FILE}::test_x"
    red_on_base = Calibration(tests=(Calibrated(id=test, file=FILE, outcome="failed", seconds=0),), errors=(), end=RunEnd(how="closed"))
    for secret in range(5):
        batches = controls.plan(controls.Book({FILE: text}), red_on_base, [test], mode="sample", secret=secret)
        assert {one.line for batch in batches for one in batch} == {2, 4}
        assert batches[0][0].kind == "slight"


def test_a_control_that_base_did_not_admit_counts_when_it_failed_only_further_on():
    one, note = specification("def test_x():\n    with pytest.raises(E) as c:\n        f()\n    assert c.value.col == 3\n", "intruder")
    later = {one.id: ("failed", Failure(type="AttributeError", message="", file=FILE, line=4))}
    assert [row.outcome for row in controls.read_results(record(later, notes=[note]), [one])] == ["elsewhere"]
    assert controls.read_results(record(later), [one]) == ()


def test_an_admitted_control_that_is_not_red_is_reported_whatever_it_did():
    book = controls.Book({FILE: TEXT})
    (batch,) = controls.plan(book, calibration(admitted=admit_everything(book)), IDS, mode="all", secret=1)
    elsewhere = ("failed", Failure(type="KeyError", message="", file=FILE, line=999))
    outcomes = dict(zip(IDS, [("passed", None), ("skipped", None), elsewhere, red(batch[3])], strict=False))
    rows = controls.read_results(record(outcomes), batch)
    assert [row.outcome for row in rows] == ["passed", "skipped", "elsewhere", "red", "missing", "missing"]


def test_a_control_during_which_the_run_timed_out_is_not_red_and_the_rest_is_unfinished():
    book = controls.Book({FILE: TEXT})
    (batch,) = controls.plan(book, calibration(admitted=admit_everything(book)), IDS, mode="all", secret=1)
    late = record({IDS[0]: red(batch[0]), IDS[1]: ("error", None)}, end=RunEnd(how="timeout", test=IDS[1]))
    assert controls.read_results(late, batch[:2])[1].outcome == "timeout"
    assert [one.id for one in controls.unfinished(late, batch)] == IDS[2:]


def specification(text, kind):
    book = controls.Book({FILE: text})
    one = next(one for one in book.of(f"{FILE}::test_x") if one.kind == kind)
    note = {"k": "control", "id": one.id, "file": FILE, "line": one.line, "state": "reached", "altered": "3 for 4"}
    return one, note


def test_a_control_that_base_did_not_admit_counts_when_its_assertion_was_reached():
    one, note = specification("def test_x():\n    for y in z:\n        assert f(y) == 3\n", "slight")
    passed = {one.id: ("passed", None)}
    assert controls.read_results(record(passed), [one]) == ()
    (row,) = controls.read_results(record(passed, notes=[note]), [one])
    assert (row.outcome, row.altered) == ("passed", "3 for 4")


def test_a_branch_that_another_parameter_set_took_was_not_reached_here():
    one, note = specification("def test_x():\n    for y in z:\n        assert f(y) == 3\n", "slight")
    one = dataclasses.replace(one, id=one.id + "[a]")
    passed = {one.id: ("passed", None)}
    assert controls.read_results(record(passed, notes=[{**note, "test": one.id.replace("[a]", "[b]")}]), [one]) == ()
    assert len(controls.read_results(record(passed, notes=[{**note, "test": one.id}]), [one])) == 1


def test_a_control_that_base_did_not_admit_counts_when_its_assertion_cannot_be_missed():
    one, _ = specification("def test_x():\n    assert f() == 3\n", "slight")
    assert [row.outcome for row in controls.read_results(record({one.id: ("passed", None)}), [one])] == ["passed"]


def test_a_control_that_base_did_not_admit_and_that_fails_elsewhere_says_nothing():
    one, note = specification("def test_x():\n    assert f() == 3\n", "slight")
    elsewhere = {one.id: ("failed", Failure(type="KeyError", message="", file=FILE, line=1))}
    assert controls.read_results(record(elsewhere, notes=[note]), [one]) == ()


def test_a_tolerant_comparison_is_not_altered_slightly_without_admission():
    book = controls.Book({FILE: "def test_x():\n    assert math.isclose(f(), 3.0, rel_tol=0.5)\n"})
    plans = [controls.plan(book, Calibration(tests=(Calibrated(id=f"{FILE}::test_x", file=FILE, outcome="failed", seconds=0),), errors=(), end=RunEnd(how="closed")),
             [f"{FILE}::test_x"], mode="all", secret=secret) for secret in range(10)]  # fmt: skip
    assert "slight" not in {one.kind for batches in plans for batch in batches for one in batch}


def test_a_control_that_failed_elsewhere_is_dropped_when_its_original_needs_company():
    book = controls.Book({FILE: TEXT})
    (batch,) = controls.plan(book, calibration(admitted=admit_everything(book)), IDS[:2], mode="all", secret=1)
    elsewhere = ("failed", Failure(type="KeyError", message="", file=FILE, line=999))
    rows = controls.read_results(record(dict.fromkeys((one.id for one in batch), elsewhere)), batch)
    assert control_runs.doubtful(rows) == tuple(IDS[:2])
    again = record({IDS[0]: ("passed", None), IDS[1]: ("failed", None)})
    assert [row.id for row in control_runs.settle(rows, again)] == IDS[:1]


def test_a_control_that_failed_where_another_test_was_altered_says_nothing():
    book = controls.Book({FILE: TEXT})
    (batch,) = controls.plan(book, calibration(admitted=admit_everything(book)), IDS[:2], mode="all", secret=1)
    shared = ("failed", Failure(type="AssertionError", message="", file=FILE, line=batch[1].line))
    rows = controls.read_results(record({IDS[0]: shared, IDS[1]: red(batch[1])}), batch)
    assert [(row.id, row.outcome) for row in rows] == [(IDS[1], "red")]


def test_a_helper_method_of_a_class_in_another_sealed_file_is_found_and_altered_the_same_way_for_all():
    helper = "tests/sealed/harness.py"
    text = "class TestIt(Harness):\n    def test_x(self):\n        self.check(f())\n    def test_y(self):\n        self.check(g())\n"
    book = controls.Book({FILE: text, helper: "class Harness:\n    def check(self, v):\n        assert v == 1\n"})
    ids = [f"{FILE}::TestIt::test_x", f"{FILE}::TestIt::test_y"]
    keys = tuple((f"{kind}@{helper}", 3) for kind in ("slight", "gross", "sentinel"))
    base = Calibration(
        tests=tuple(Calibrated(id=name, file=FILE, outcome="passed", seconds=0, controls=keys) for name in ids), errors=(), end=RunEnd(how="closed")
    )
    for secret in range(8):
        (batch,) = controls.plan(book, base, ids, mode="all", secret=secret)
        assert [(one.id, one.line) for one in batch] == [(ids[0], 3), (ids[1], 3)]
