"""What of two decisions must be equal, and where they differ first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trivet.errors import UsageError
from trivet.gate import GateRequest
from trivet.replaying import KIND, difference, find, outcome, replay
from trivet.stage.cache import Cache

DECISION = {"verdicts": {}, "run": {"durations": {"a": 1.0}, "duration_s": 1.0, "tests": {"passed": 1}}, "advisory": {"counts": {}}}


def test_times_and_the_advisory_lane_are_no_part_of_an_outcome() -> None:
    other = {**DECISION, "run": {"durations": {"a": 2.0}, "duration_s": 3.0, "tests": {"passed": 1}}, "advisory": None}
    assert outcome(DECISION) == outcome(other)
    assert outcome(DECISION) != outcome({**DECISION, "run": {"tests": {"failed": 1}}})


@pytest.mark.parametrize(
    ("was", "now", "place"),
    [
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, "a[1].b"),
        ({"a": [1]}, {"a": [1, 2]}, "a[1]"),
        ({"a": 1}, {}, "a"),
        ({"a": 1}, {"a": True}, "a"),
        ({"a": 1}, {"a": 1.0}, "a"),
    ],
)
def test_the_first_difference_is_named(was: object, now: object, place: str) -> None:
    found = difference(was, now)
    assert found is not None
    assert found[0] == place


def test_equal_values_have_no_difference() -> None:
    assert difference({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}) is None


def test_a_decision_is_found_by_file_by_folder_and_by_the_first_digits_of_its_key(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/decision.json").write_text(json.dumps(DECISION))
    cache = tmp_path / "cache"
    Cache(cache).put(KIND, "ab" * 32, {**DECISION, "kept": True})
    assert find("out", cwd=tmp_path, cache=None) == find("out/decision.json", cwd=tmp_path, cache=None) == DECISION
    assert find("abababab", cwd=tmp_path, cache=cache)["kept"] is True


@pytest.mark.parametrize("what", ["abababab", "abab", "nothing", "../x", "broken.json", "list.json"])
def test_what_names_no_decision_is_refused(tmp_path: Path, what: str) -> None:
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(UsageError):
        find(what, cwd=tmp_path, cache=tmp_path / "cache")


def test_a_decision_without_commits_cannot_be_replayed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="names no base commit"):
        replay(dict(DECISION), GateRequest(repo=tmp_path, base="", head="", now=0.0))
