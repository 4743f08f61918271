"""What each level of feedback tells, and that nothing else leaves."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivet.rules import RULES
from trivet.service.answers import event_answer, score_answer
from trivet.service.feedback import redacted
from trivet.service.rows import EventRow, ScoreRow

SECRET = "held-out-42"
DECISION = {
    "schema": 1,
    "tool": {"name": "trivet", "version": "1"},
    "base": {"commit": "a" * 40, "tree": "b" * 40},
    "head": {"commit": "c" * 40, "tree": "d" * 40},
    "turned_green": [f"tests/sealed/test_a.py::test_b[{SECRET}]"],
    "policy": {"digest": SECRET, "source": SECRET},
    "change": {"kind": "patch", "paths": [{"path": "src/a.py", "zone": "source", "status": "M"}]},
    "verdicts": {
        "src-score": {
            "status": "FAIL", "cause": "property",
            "findings": [
                {"rule": "TRV201", "level": "error", "message": f"tests/sealed/test_a.py::test_b[{SECRET}] (green on base): assert 1 == {SECRET}", "path": "tests/sealed/test_a.py", "line": 7, "next": SECRET},
                {"rule": "TRV201", "level": "error", "message": f"tests/sealed/test_a.py::test_b[other] {SECRET}", "path": "tests/sealed/test_a.py", "line": 7, "next": SECRET},
            ],
        },
        "oracle-integrity": {"status": "PASS", "cause": "", "findings": []},
        "flake-lease": {"status": "PASS", "cause": "", "findings": []},
    },
    "merge": False,
    "replay_key": {"digest": SECRET, "secret": SECRET},
    "run": {"tests": {"failed": 2, "passed": 3}, "durations": {SECRET: 1.0}, "controls": {SECRET: 1}},
    "advisory": {"notes": [SECRET]},
    "a key of tomorrow": SECRET,
}  # fmt: skip


@pytest.mark.parametrize("level", ["names", "score", "verdict"])
def test_no_content_of_an_oracle_leaves_below_full(level: str) -> None:
    assert SECRET not in json.dumps(redacted(DECISION, level))


def test_full_is_the_decision() -> None:
    assert redacted(DECISION, "full") == DECISION


def test_names_tell_the_rule_in_its_own_words_and_the_test_function_once() -> None:
    told = redacted(DECISION, "names")
    rule = RULES["TRV201"]
    assert told["verdicts"]["src-score"]["findings"] == [
        {"rule": "TRV201", "level": "error", "message": rule.title, "path": "tests/sealed/test_a.py", "line": None, "next": rule.next, "test": "tests/sealed/test_a.py::test_b"}
    ]
    assert told["turned_green"] == ["tests/sealed/test_a.py::test_b"]
    assert told["run"] == {"tests": {"failed": 2, "passed": 3}}


def test_score_tells_counts_and_rules_but_no_names() -> None:
    told = redacted(DECISION, "score")
    assert told["verdicts"]["src-score"] == {"status": "FAIL", "cause": "property", "rules": {"TRV201": 2}}
    assert told["run"] == {"tests": {"failed": 2, "passed": 3}}
    assert "test_b" not in json.dumps(told)
    assert "src/a.py" not in json.dumps(told)


def test_verdict_tells_words_alone() -> None:
    assert redacted(DECISION, "verdict") == {
        "schema": 1, "feedback": "verdict", "tool": DECISION["tool"], "base": DECISION["base"], "head": DECISION["head"], "merge": False,
        "verdicts": {"src-score": {"status": "FAIL"}, "oracle-integrity": {"status": "PASS"}, "flake-lease": {"status": "PASS"}},
    }  # fmt: skip


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=8)


@given(st.dictionaries(st.sampled_from(["verdicts", "run", "merge", "turned_green", "change"]), JSON), st.sampled_from(["names", "score", "verdict"]))
def test_a_decision_of_any_shape_is_told_and_never_as_a_yes_by_accident(part: dict, level: str) -> None:
    told = redacted({**DECISION, **part}, level)
    assert told["merge"] is ({**DECISION, **part}["merge"] is True)


def row(**more) -> ScoreRow:
    known = {"n": 1, "id": "1" * 24, "repo": "alpha", "base": "a" * 40, "head": "b" * 40, "policy": "p", "attempt": 1, "ref": "", "source": "api", "asked_by": "x", "state": "done", "queued_at": 1.0}
    return ScoreRow(**(known | more))


def test_who_may_ask_but_not_read_learns_no_word() -> None:
    answer = score_answer(row(merge=True, src_score="PASS", oracle_integrity="PASS", flake_lease="PASS", problem="p"), "full", decision=dict(DECISION), told=False)
    assert (answer.merge, set(answer.verdicts.values()), answer.problem, answer.decision) == (None, {None}, "not told at this level", None)


@pytest.mark.parametrize("level", ["names", "score", "verdict"])
def test_what_a_child_said_is_told_at_full_alone(level: str) -> None:
    assert SECRET not in score_answer(row(state="failed", problem=SECRET), level).problem
    assert score_answer(row(state="failed", problem=SECRET), "full").problem == SECRET
    assert event_answer(EventRow(n=1, at=1.0, kind="progress", text=SECRET), level).text == ""


def test_no_word_is_told_before_a_decision_stands() -> None:
    answer = score_answer(row(state="scoring", merge=None, src_score="PASS"), "full")
    assert (answer.merge, answer.over, set(answer.verdicts.values())) == (None, False, {None})
