"""What a decision and an exit status come to as a reward."""

from __future__ import annotations

import pytest

from trivet.reward import InfraError, RewardRecord, record_of, red_tests


def decision(score="PASS", oracle="PASS", lease="PASS", *, merge=None, cause="", findings=(), green=()) -> dict:
    words = {"src-score": score, "oracle-integrity": oracle, "flake-lease": lease}
    return {
        "verdicts": {leg: {"status": word, "cause": cause if leg == "src-score" else "", "findings": list(findings) if leg == "src-score" else []} for leg, word in words.items()},
        "merge": all(word == "PASS" for word in words.values()) if merge is None else merge,
        "turned_green": list(green),
        "run": {"duration_s": 2.5, "durations": {"tests/a.py::test_x[a (b)]": 0.1, "tests/a.py::test_x": 0.1}},
        "replay_key": {"digest": "k"},
    }


RED = decision("FAIL", cause="property", findings=[{"rule": "TRV201", "level": "error", "message": "tests/a.py::test_x[a (b)] (green on base): boom"}])


@pytest.mark.parametrize(
    ("told", "status", "outcome", "reward"),
    [
        (decision(), 0, "PASS", 1.0),
        (RED, 1, "FAIL", 0.0),
        (decision(oracle="FAIL", score="NOT_RUN"), 1, "FAIL", 0.0),
        (decision("NOT_RUN", cause="infra"), 3, "INFRA", None),
        (decision("NOT_RUN", cause="infra"), 1, "INFRA", None),
        ({}, 0, "INFRA", None),
        ({}, 1, "INFRA", None),
        ({}, None, "INFRA", None),
        ({}, -9, "INFRA", None),
        ({}, 2, "INFRA", None),
        (decision(), 1, "INFRA", None),
        (decision(), 3, "INFRA", None),
        (RED, 0, "INFRA", None),
        (decision("FAIL", merge=True), 0, "INFRA", None),
        (decision("GREAT", merge=True), 0, "INFRA", None),
        ({**decision(), "merge": "yes"}, 0, "INFRA", None),
        ({"merge": True, "verdicts": {"src-score": {"status": "PASS"}}}, 0, "INFRA", None),
    ],
)
def test_only_a_whole_decision_with_its_own_exit_status_gives_a_number(told, status, outcome, reward) -> None:
    record = record_of(told, status)
    assert (record.outcome, record.reward) == (outcome, reward)


def test_a_record_says_why() -> None:
    record = record_of(RED, 1)
    assert record.reasons == ("TRV201 tests/a.py::test_x[a (b)] (green on base): boom",)
    assert (record.cause, record.duration_s, record.replay_key, record.verdicts["src-score"]) == ("property", 2.5, "k", "FAIL")


def test_red_tests_are_known_by_their_whole_ids() -> None:
    assert red_tests(RED) == ("tests/a.py::test_x[a (b)]",)


def test_a_task_whose_tests_were_never_red_rewards_nobody() -> None:
    green = decision(green=["tests/a.py::test_x"])
    assert record_of(green, 0, must_turn_green=["tests/a.py::test_x"]).reward == 1.0
    record = record_of(green, 0, must_turn_green=["tests/a.py::test_x", "tests/a.py::test_z"])
    assert (record.outcome, record.reward, record.missed) == ("FAIL", 0.0, ("tests/a.py::test_z",))


def test_a_reward_that_is_none_is_no_number() -> None:
    assert RewardRecord(outcome="FAIL", reward=0.0).require() == 0.0
    with pytest.raises(InfraError, match="could not judge"):
        RewardRecord(outcome="INFRA", reward=None).require()
