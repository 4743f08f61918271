"""From ``decision.json`` to the parts of a run's page."""

from __future__ import annotations

import pytest

from trivet.service import views_run
from trivet.service.views import RunRow, RunView, word_of

DECISION = {
    "schema": 1,
    "tool": {"name": "trivet", "version": "9"},
    "turned_green": ["tests/sealed/test_a.py::test_x"],
    "merge": False,
    "score_tree": "a" * 40,
    "policy": {"digest": "d" * 64, "source": "trivet.toml"},
    "change": {"kind": "patch", "paths": [{"path": "src/a.py", "zone": "source", "status": "M"}]},
    "verdicts": {
        "src-score": {
            "status": "FAIL",
            "cause": "property",
            "findings": [
                {"rule": "TRV201", "level": "error", "message": "tests/sealed/test_a.py::test_y (green on base): boom", "path": "tests/sealed/test_a.py", "line": 5, "next": ""},
                {"rule": "TRV201", "level": "error", "message": "tests/sealed/test_a.py::test_z (green on base): boom", "path": "tests/sealed/test_a.py", "line": 9, "next": "Mend it."},
            ],
        },
        "oracle-integrity": {"status": "PASS", "cause": "", "findings": []},
        "flake-lease": {"status": "NOT_RUN", "cause": "infra", "findings": []},
    },
    "run": {
        "tests": {"passed": 2, "failed": 1},
        "controls": {"red": 2},
        "isolation": {"split": ["a", "b"]},
        "wall": {"name": "kernel", "guarantees": ["files"], "lacks": ["stat"]},
        "durations": {f"tests/sealed/test_a.py::test_{letter}": 0.1 * place for place, letter in enumerate("abcdefghijklmnopqrstuvwxyz")},
        "signs": [],
        "duration_s": 2.5,
    },
    "replay_key": {"TZ": "UTC", "digest": "e" * 64},
    "advisory": {"counts": [["passed", 3]], "coverage": 0.5, "notes": ["a note"]},
}
EMPTY = RunView(row=RunRow(id="r", repo="shop", base="b" * 40, head="c" * 40, state="decided", at=0.0), submitted_at=0.0, started_at=None, finished_at=None, outcome="")


def test_a_view_has_what_the_decision_has() -> None:
    view = views_run.decided(EMPTY, DECISION)
    assert view.outcome == "Blocked: 1 of 3 legs failed, 1 was not run."
    assert [(leg.leg, leg.status, leg.cause) for leg in view.legs] == [("src-score", "FAIL", "property"), ("oracle-integrity", "PASS", ""), ("flake-lease", "NOT_RUN", "infra")]
    assert view.tests == (("passed", 2), ("failed", 1))
    assert view.isolation == (("split", 2),)
    assert (view.wall, view.guarantees, view.lacks) == ("kernel", ("files",), ("stat",))
    assert (view.replay, view.replay_digest) == ((("TZ", "UTC"),), "e" * 64)
    assert view.advisory == ("3 passed", "changed lines covered: 50 %", "a note")
    assert [(path.path, path.zone) for path in view.moved] == [("src/a.py", "source")]


def test_findings_stand_under_their_rule_with_each_advice_once() -> None:
    (group,) = views_run.legs(DECISION)[0].groups
    assert (group.rule, len(group.spots), group.hidden) == ("TRV201", 2, 0)
    assert group.next == ("Fix the production code; the sealed test says what is expected.", "Mend it.")


def test_the_slowest_tests_come_first_and_the_red_ones_are_marked() -> None:
    view = views_run.decided(EMPTY, DECISION)
    assert [timing.test[-1] for timing in view.timings[:3]] == ["z", "y", "x"]
    assert [timing.failed for timing in view.timings[:3]] == [True, True, False]
    assert (len(view.timings), view.timed) == (views_run.SLOWEST, 26)


def test_findings_beyond_the_page_are_counted() -> None:
    many = {"verdicts": {"src-score": {"status": "FAIL", "findings": [{"rule": "TRV201", "message": str(n)} for n in range(50)]}}}
    (group,) = views_run.legs(many)[0].groups
    assert (len(group.spots), group.hidden) == (views_run.SHOWN, 30)


@pytest.mark.parametrize("data", [{}, {"verdicts": None}, {"verdicts": {"src-score": 3}, "run": [], "change": "x", "replay_key": 1, "advisory": []}, {"verdicts": {"src-score": {"status": "GREAT", "findings": 7}}}])
def test_data_of_another_shape_makes_an_emptier_page_and_no_green_one(data) -> None:
    view = views_run.decided(EMPTY, data)
    assert view.legs == ()
    assert view.outcome == "blocked"
    assert views_run.statuses(data) == ()


def test_control_characters_and_direction_marks_of_a_patch_become_visible() -> None:
    bad = {"verdicts": {"src-score": {"status": "FAIL", "findings": [{"rule": "TRV201", "message": "a\u202eb\x1b[0m\udcff", "path": "x\ty"}]}}}
    (spot,) = views_run.legs(bad)[0].groups[0].spots
    assert spot.message == "a\\u202eb\\u001b[0m\\udcff"
    assert spot.path == "x\\u0009y"


@pytest.mark.parametrize(
    ("state", "merge", "words", "told"),
    [
        ("decided", True, ("PASS", "PASS", "PASS"), "merge"),
        ("decided", False, ("FAIL", "PASS", "PASS"), "blocked"),
        ("decided", False, ("NOT_RUN", "PASS", "PASS"), "undecided"),
        ("failed", None, (), "undecided"),
        ("cancelled", None, (), "superseded"),
        ("running", None, (), "running"),
        ("decided", None, (), "undecided"),
    ],
)
def test_the_word_of_a_run_is_green_only_for_a_decision_to_merge(state, merge, words, told) -> None:
    assert word_of(state, merge, words) == told
