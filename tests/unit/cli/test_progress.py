"""What is told while a command runs: counts, time left, and where it goes."""

from __future__ import annotations

import argparse
import io
from pathlib import Path

import pytest

from trivet.cli import Door, progress
from trivet.pace import SILENT, Tick


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_runs_side_by_side_are_added_up() -> None:
    meter = progress.Meter()
    meter.step("running")
    meter.tick(Tick(run="a", done=0, total=10), 0.0)
    meter.tick(Tick(run="b", done=0, total=30), 0.0)
    meter.tick(Tick(run="a", done=5, total=10), 10.0)
    meter.tick(Tick(run="b", done=10, total=30), 10.0)
    state = meter.state(10.0)
    assert (state.done, state.total, state.left_s) == (15, 40, 20.0)
    assert progress.count(state) == "15/40 tests, about 20 s left"


def test_a_run_that_ended_is_counted_until_the_next_step() -> None:
    meter = progress.Meter()
    meter.tick(Tick(run="a", done=4, total=4), 0.0)
    meter.tick(Tick(run="a", over=True), 0.1)
    assert progress.count(meter.state(0.2)) == "4/4 tests"
    meter.step("next")
    assert progress.count(meter.state(0.3)) == ""


def test_a_short_run_and_one_without_a_pace_say_nothing_of_time_left() -> None:
    meter = progress.Meter()
    meter.tick(Tick(run="a", done=0, total=10), 0.0)
    meter.tick(Tick(run="a", done=2, total=10), 4.0)
    assert meter.state(4.0).left_s is None, "two tests are no pace"
    meter.tick(Tick(run="a", done=9, total=10), 4.1)
    assert meter.state(4.1).left_s is None, "under five seconds in all"


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59.6, "1 min"), (125, "2 min 5 s"), (3780, "1 h 3 min")])
def test_durations_are_said_as_people_say_them(seconds: float, text: str) -> None:
    assert progress.duration(seconds) == text


def test_without_a_terminal_each_leg_gets_one_line_and_a_long_run_one_a_minute() -> None:
    out, clock = io.StringIO(), Clock()
    show = progress.Lines(out, clock)
    show.leg("oracle-integrity", "PASS", "")
    show.step("running \x1b[31mthe sealed tests")
    for done in range(120):
        clock.now += 1
        show.tick(Tick(run="a", done=done, total=400, test="x"))
    show.leg("src-score", "FAIL", "property")
    rows = out.getvalue().splitlines()
    assert rows[0] == "oracle-integrity  PASS  0 s"
    assert rows[1] == "running \\x1b[31mthe sealed tests: 59/400 tests, about 5 min 41 s left  (1 min so far)"
    assert rows[-1] == "src-score         FAIL  cause: property  2 min"
    assert len(rows) == 4


@pytest.mark.parametrize(
    ("environ", "tty", "live"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, True),
        ({"TERM": "xterm"}, False, False),
        ({"TERM": "xterm", "CI": "true"}, True, False),
        ({"TERM": "dumb"}, True, False),
        ({}, True, False),
    ],
)
def test_the_form_fits_the_place(environ: dict[str, str], tty: bool, live: bool) -> None:
    assert progress.is_live(environ, tty=tty) is live


def drawn(monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], *, quiet: bool = False) -> tuple[str, str]:
    """What goes to a terminal as standard error, and to standard output."""
    error, out = Tty(), io.StringIO()
    monkeypatch.setattr("sys.stderr", error)
    monkeypatch.setattr("sys.stdout", out)
    door = Door(now=0.0, environ=environ, cwd=Path())
    with progress.shown(argparse.Namespace(quiet=quiet), door) as show:
        show.step("running the sealed tests")
        show.tick(Tick(run="a", done=3, total=7))
        if isinstance(show, progress.Live):
            assert show._progress is not None
            show._progress.refresh()
    return error.getvalue(), out.getvalue()


def test_a_terminal_gets_a_moving_line_on_standard_error_that_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    error, out = drawn(monkeypatch, {"TERM": "xterm"})
    assert "running the sealed tests" in error
    assert "3/7 tests" in error
    assert error.rstrip().endswith("\x1b[2K"), "the line is erased at the end"
    assert "\x1b[3" in error, "in colour"
    assert out == ""


def test_no_color_moves_without_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    error, _ = drawn(monkeypatch, {"TERM": "xterm", "NO_COLOR": "1"})
    assert "3/7 tests" in error
    assert not any(f"\x1b[{code}" in error for code in ("31m", "32m", "35m", "36m", "38;"))


def test_quiet_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, {"TERM": "xterm"}, quiet=True) == ("", "")
    assert progress.SILENT is SILENT
