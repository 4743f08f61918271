"""From outcomes under perturbed settings to the cause."""

from __future__ import annotations

import pytest

from trivet.legs.flakes import CAUSES, Seen, judge

RUNS = ("order", "hash", "seed", "zone", "clock", "threads", "twice", "host", "again")


def seen(*shown: str, plain: str = "passed", touched: tuple[str, ...] = (), close: dict[str, object] | None = None, failure: str = "AssertionError") -> Seen:
    other = "failed" if plain == "passed" else "passed"
    outcomes = {name: other if name in shown else plain for name in RUNS}
    failures = {name: failure for name, outcome in {**outcomes, "plain": plain}.items() if outcome == "failed"}
    return Seen(id="t.py::t", plain=plain, outcomes=outcomes, failures=failures, touched=touched, close=close or {})


@pytest.mark.parametrize(
    ("one", "cause"),
    [
        (seen("order"), "order"),
        (seen("order", "twice"), "order"),
        (seen("hash", "seed"), "hash order"),
        (seen("hash"), "hash order"),
        (seen("seed"), "hash order"),
        (seen("seed", touched=("random",)), "random"),
        (seen("seed", close={"setting": "random seed"}), "random"),
        (seen("zone"), "time zone"),
        (seen("zone", "clock"), "time"),
        (seen("clock"), "time"),
        (seen("threads"), "threads"),
        (seen("again", touched=("threads",)), "threads"),
        (seen("twice"), "state"),
        (seen("twice", touched=("wrote",)), "leftovers"),
        (seen("host", close={"setting": "process id"}), "process id"),
        (seen("host", close={"setting": "working directory"}), "working directory"),
        (seen("host", touched=("network",)), "network"),
        (seen("host", failure="UnicodeDecodeError", touched=("relative",)), "locale"),
        (seen("host", touched=("relative",)), "working directory"),
        (seen("host"), "locale"),
        (seen("again"), "chance"),
        (seen("again", "hash", touched=("entropy",)), "random"),
        (seen("hash", "zone", "order", touched=("ids",)), "addresses"),
        (seen("order", plain="failed"), "order"),
    ],
)
def test_the_runs_that_differ_and_what_was_touched_tell_the_cause(one: Seen, cause: str) -> None:
    found = judge(one)
    assert (found.kind, found.cause) == ("flaky", cause)
    assert found.cause in CAUSES
    assert found.detail


def test_the_smallest_set_of_other_tests_is_named() -> None:
    assert judge(seen("order", close={"needs": ["t.py::a", "t.py::b"]})).detail == "needs t.py::a, then t.py::b"
    assert judge(seen("order", close={"spoilt": ["t.py::c"]})).detail == "is spoilt by t.py::c"


@pytest.mark.parametrize(("plain", "kind"), [("passed", "holds"), ("skipped", "holds"), ("failed", "fails"), ("error", "fails")])
def test_what_never_differs_is_no_flake(plain: str, kind: str) -> None:
    found = judge(Seen(id="t", plain=plain, outcomes=dict.fromkeys(RUNS, plain)))
    assert (found.kind, found.cause, found.shown_by) == (kind, "", ())


def test_a_failure_of_the_denied_network_is_said_but_is_no_flake() -> None:
    found = judge(seen(plain="failed", touched=("network",), failure="socket.gaierror"))
    assert (found.kind, found.cause) == ("fails", "network")
    assert judge(seen(plain="failed", failure="ConnectionError")).cause == ""
