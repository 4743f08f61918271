"""Records are believed only as far as they are complete."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivet.model import RunEnd, RunRecord
from trivet.probe import wire
from trivet.stage.records import Fold, ProtocolError

NONCE = "n0"
ID = "tests/sealed/test_a.py::test_one"
CLOSED = RunEnd(how="closed")


def lines(*records: tuple[str, dict[str, object]], nonce: str = NONCE, first: int = 0) -> bytes:
    return b"".join(wire.dump_record(nonce, number, kind, fields) for number, (kind, fields) in enumerate(records, first))


def rows_of(*phases: tuple[str, str], name: str = ID, done: bool = True, **more: object) -> list[tuple[str, dict[str, object]]]:
    rows: list[tuple[str, dict[str, object]]] = [("begin", {"id": name})]
    rows += [("phase", {"id": name, "when": when, "out": out, "s": 0.1, **more}) for when, out in phases]
    return [*rows, ("done", {"id": name})] if done else rows


def folded(*records: tuple[str, dict[str, object]]) -> RunRecord:
    fold = Fold(NONCE)
    fold.feed(lines(*records))
    return fold.record(isolation="shared", end=CLOSED, seconds=1.0, output="")


GOOD = (("setup", "passed"), ("call", "passed"), ("teardown", "passed"))


@pytest.mark.parametrize(
    ("phases", "outcome"),
    [
        (GOOD, "passed"),
        ((("setup", "passed"), ("call", "failed"), ("teardown", "passed")), "failed"),
        ((("setup", "passed"), ("call", "passed"), ("teardown", "failed")), "error"),
        ((("setup", "failed"), ("teardown", "passed")), "error"),
        ((("setup", "skipped"), ("teardown", "passed")), "skipped"),
        ((("setup", "passed"), ("call", "xfailed"), ("teardown", "passed")), "xfailed"),
        ((("setup", "passed"), ("call", "xpassed"), ("teardown", "passed")), "xpassed"),
        ((("setup", "passed"), ("call", "nonsense"), ("teardown", "passed")), "error"),
        ((("setup", "passed"), ("call", "passed"), ("call", "failed"), ("teardown", "passed")), "failed"),
    ],
)
def test_the_worst_phase_is_the_outcome(phases: tuple[tuple[str, str], ...], outcome: str) -> None:
    """The worst phase is the outcome of a test."""
    assert folded(*rows_of(*phases)).results[0].outcome == outcome


@pytest.mark.parametrize("missing", ["setup", "call", "teardown"])
def test_a_test_without_one_of_its_phases_has_not_passed(missing: str) -> None:
    """A test without one of its phases has not passed."""
    result = folded(*rows_of(*[phase for phase in GOOD if phase[0] != missing])).results[0]
    assert result.outcome == "error"
    assert result.failure is not None
    assert result.failure.type == "Incomplete"


def test_a_test_that_was_not_finished_has_not_passed() -> None:
    """A test that was not finished has not passed."""
    assert folded(*rows_of(*GOOD, done=False)).results[0].outcome == "error"


def test_a_red_subtest_makes_the_test_red() -> None:
    """A red subtest makes the test red."""
    rows = rows_of(*GOOD)
    rows.insert(2, ("sub", {"id": ID, "out": "failed", "fail": {"type": "AssertionError", "message": "no", "file": "", "line": 0}}))
    result = folded(*rows).results[0]
    assert (result.outcome, result.failure and result.failure.type) == ("failed", "AssertionError")


def test_origin_and_environment_of_a_skip_are_kept() -> None:
    """Origin and environment of a skip are kept."""
    phases = (("setup", "skipped"), ("teardown", "passed"))
    result = folded(*rows_of(*phases, reason="windows only", env=True)).results[0]
    assert (result.env_skip, result.by_source, result.reason) == (True, False, "windows only")
    assert folded(*rows_of(*phases, reason="x", src=True)).results[0].by_source


def test_a_passed_test_is_no_environment_skip() -> None:
    """A passed test is no environment skip."""
    assert not folded(*rows_of(*GOOD)).results[0].env_skip


def test_a_file_that_skips_itself_is_a_skipped_result() -> None:
    """A file that skips itself is a skipped result under its own name."""
    result = folded(("collect_skip", {"file": "tests/sealed/test_b.py", "reason": "no x", "env": True})).results[0]
    assert (result.id, result.outcome, result.env_skip) == ("tests/sealed/test_b.py", "skipped", True)


def test_unknown_kinds_are_kept_as_notes() -> None:
    """Records of unknown kinds are kept as notes."""
    record = folded(("control", {"id": ID, "state": "reached"}))
    assert record.notes[0]["state"] == "reached"


def test_the_root_of_the_tree_is_taken_out_of_texts() -> None:
    """The root of the tree is taken out of texts."""
    fold = Fold(NONCE, "/tmp/abc/head")
    fold.feed(lines(("collect_error", {"file": "a.py", "text": "in /tmp/abc/head/src/a.py"})))
    assert fold.record(isolation="shared", end=CLOSED, seconds=0, output="").errors == (("a.py", "in src/a.py"),)


@pytest.mark.parametrize(
    "data",
    [
        lines(("begin", {"id": ID}), nonce="other"),
        lines(("begin", {"id": ID}), first=1),
        lines(("begin", {"id": ID})) * 2,
        b"hello\n",
        b"[1]\n",
        b"\xff\xfe\n",
        lines(("phase", {"id": ID, "when": "call", "out": "passed"})),
        lines(("begin", {})),
        lines(("collected", {"ids": 3})),
        lines(("end", {"count": 7})),
        lines(("end", {"count": 0})) + b"x",
        lines(("end", {"count": 0}), ("begin", {"id": ID})),
        b"x" * (wire.MAX_LINE + 1),
    ],
)
def test_what_no_probe_writes_breaks_the_protocol(data: bytes) -> None:
    """What no probe writes breaks the protocol."""
    fold = Fold(NONCE)
    with pytest.raises(ProtocolError):
        fold.feed(data)


@given(st.lists(st.integers(1, 40)), st.integers(0, 5))
def test_the_stream_may_be_cut_anywhere(cuts: list[int], tests: int) -> None:
    """How the stream is cut into pieces does not matter."""
    rows = [row for number in range(tests) for row in rows_of(*GOOD, name=f"{ID}[{number}]")]
    data = lines(*rows, ("end", {"count": len(rows)}))
    fold, at = Fold(NONCE), 0
    for size in cuts:
        fold.feed(data[at : at + size])
        at += size
    fold.feed(data[at:])
    assert fold.closed
    assert [result.outcome for result in fold.record(isolation="shared", end=CLOSED, seconds=0, output="").results] == ["passed"] * tests


names = st.text(min_size=1, max_size=20)


@given(names, st.lists(names), st.integers(0, 2**64), st.none() | st.floats(0, 2e9))
def test_a_job_comes_back_as_it_went(root: str, files: list[str], seed: int, clock: float | None) -> None:
    """A job comes back as it went."""
    job = wire.Job(root=root, files=files, paths=[root], nonce=NONCE, seed=seed, clock=clock)
    assert wire.load_job(wire.dump_job(job)) == job


def test_a_job_of_another_version_is_refused() -> None:
    """A job of another version is refused."""
    job = wire.Job(root="/", files=[], paths=[], nonce=NONCE, version=wire.VERSION + 1)
    with pytest.raises(ValueError, match="version"):
        wire.load_job(wire.dump_job(job))
