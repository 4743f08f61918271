"""Progress on standard error while a command runs: a live line on a terminal, one line a leg elsewhere. Never on standard output.

On a terminal one line shows the step, tests done and in all, and the time left; it is gone when the command is done. In CI, in a pipe and
on a dumb terminal each leg gets one line when it has its verdict, and a long run one line a minute, so that nobody takes it for dead.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from trivet.cli import Door
from trivet.pace import SILENT, Show, Tick
from trivet.report import escape

if TYPE_CHECKING:
    from rich.progress import Progress

LONG_S = 5.0
"""Only a run that takes longer in all says how much time is left."""
EVERY_S = 60.0
"""Between two signs of life where nothing is live."""
_WIDE, _COUNT = 120, 38
"""Columns of a terminal from which on a bar is drawn; columns that counts and time left take at least."""
_SURE = 3
"""Tests that must be done before their pace says something."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--quiet`` to a command."""
    parser.add_argument("--quiet", action="store_true", help="tell nothing on standard error while it runs; errors are still told")


@contextmanager
def shown(args: argparse.Namespace, door: Door) -> Iterator[Show]:
    """The progress that fits to where standard error goes; what is live is gone at the end."""
    stream = sys.stderr
    if args.quiet:
        yield SILENT
    elif is_live(door.environ, tty=stream.isatty()):
        live = Live(stream, door.environ)
        try:
            yield live
        finally:
            live.close()
    else:
        yield Lines(stream)


def is_live(environ: Mapping[str, str], *, tty: bool) -> bool:
    """A line that moves: on a terminal that can, outside CI. ``NO_COLOR`` takes its colours, not its motion."""
    return tty and not environ.get("CI") and environ.get("TERM", "dumb") != "dumb"


@dataclass(slots=True)
class _Run:
    began: float
    done: int = 0
    total: int = 0
    first: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What can be said now: the step, tests done and in all over the runs of this step, seconds left (None: nobody knows yet)."""

    text: str
    what: str
    done: int
    total: int
    left_s: float | None


@dataclass(slots=True)
class Meter:
    """Adds up the ticks of runs side by side. Moments are seconds of any clock that only goes forward."""

    text: str = ""
    what: str = "tests"
    _runs: dict[str, _Run] = field(default_factory=dict)
    _over: dict[str, _Run] = field(default_factory=dict)

    def step(self, text: str) -> None:
        """A step begins: what has ended before is not counted any more."""
        self.text = text
        self._over.clear()

    def tick(self, tick: Tick, at: float) -> None:
        """Take one tick."""
        if tick.over:
            ended = self._runs.pop(tick.run, None)
            if ended is not None:
                self._over[tick.run] = ended
            return
        run = self._runs.setdefault(tick.run, _Run(began=at))
        if run.first is None and tick.total:
            run.first = at
        run.done, run.total = tick.done, max(tick.total, tick.done)
        self.what = tick.what

    def state(self, at: float) -> State:
        """Add up."""
        runs = [*self._runs.values(), *self._over.values()]
        lefts = [left for run in self._runs.values() if (left := _left(run, at)) is not None]
        done, total = sum(run.done for run in runs), sum(run.total for run in runs)
        return State(text=self.text, what=self.what, done=done, total=total, left_s=max(lefts) if lefts else None)


def _left(run: _Run, at: float) -> float | None:
    """Seconds that one run still takes at its pace so far; None for a short one, or before it has a pace."""
    if run.first is None or run.done < _SURE or at <= run.first:
        return None
    spent = at - run.first
    left = spent / run.done * (run.total - run.done)
    return left if spent + left >= LONG_S else None


def duration(seconds: float) -> str:
    """Seconds as people say them: ``8 s``, ``2 min 5 s``, ``1 h 3 min``."""
    whole = max(0, round(seconds))
    if whole < 60:  # noqa: PLR2004
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:  # noqa: PLR2004
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def count(state: State) -> str:
    """``12/40 tests, about 8 s left``; "" before anything is known."""
    if not state.total:
        return ""
    left = "" if state.left_s is None else f", about {duration(state.left_s)} left"
    return f"{state.done}/{state.total} {state.what}{left}"


class Lines(Show):
    """One line for each leg, and one a minute while a run goes on."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._meter, self._lock = Meter(), threading.Lock()
        self._began = self._last = clock()

    def step(self, line: str) -> None:
        """Remember it for the next sign of life."""
        with self._lock:
            self._meter.step(line)
            self._sign()

    def tick(self, tick: Tick) -> None:
        """Count, and give a sign of life when it is time."""
        with self._lock:
            self._meter.tick(tick, self._clock())
            self._sign()

    def leg(self, name: str, status: str, cause: str) -> None:
        """Print the leg's line."""
        with self._lock:
            now = self._clock()
            self._say(f"{name:16}  {status}{f'  cause: {cause}' if cause else ''}  {duration(now - self._began)}")
            self._last = now

    def _sign(self) -> None:
        now = self._clock()
        if now - self._last < EVERY_S:
            return
        self._last = now
        told = count(self._meter.state(now))
        self._say(f"{self._meter.text or 'running'}{f': {told}' if told else ''}  ({duration(now - self._began)} so far)")

    def _say(self, text: str) -> None:
        self._stream.write(escape.line(text) + "\n")
        self._stream.flush()


class Live(Show):
    """One moving line. The library that draws it is loaded when a run has begun, so that quick commands do not pay for it."""

    def __init__(self, stream: TextIO, environ: Mapping[str, str], clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock, self._environ = stream, clock, environ
        self._meter, self._lock = Meter(), threading.Lock()
        self._progress: Progress | None = None

    def step(self, line: str) -> None:
        """Show the step."""
        with self._lock:
            self._meter.step(line)
            self._draw()

    def tick(self, tick: Tick) -> None:
        """Show how far it is."""
        with self._lock:
            self._meter.tick(tick, self._clock())
            self._draw()

    def leg(self, name: str, status: str, cause: str) -> None:
        """Nothing: the report that follows says it."""

    def close(self) -> None:
        """Take the line away."""
        with self._lock:
            if self._progress is not None:
                self._progress.stop()
                self._progress = None

    def _draw(self) -> None:
        if self._progress is None:
            self._progress = self._started()
        state = self._meter.state(self._clock())
        text = escape.line(state.text, 80) or "running"
        told = count(state)
        self._progress.update(
            self._progress.task_ids[0], description=text, completed=state.done, total=state.total or None, told=told, refresh=False
        )

    def _started(self) -> Progress:
        from rich.console import Console  # noqa: PLC0415 - only on a terminal, only when something runs
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn  # noqa: PLC0415
        from rich.table import Column  # noqa: PLC0415

        plain = bool(self._environ.get("NO_COLOR"))
        console = Console(file=self._stream, force_terminal=True, no_color=plain, highlight=False, markup=False, emoji=False)
        bar = (BarColumn(bar_width=20),) if console.width >= _WIDE else ()
        # Where there is too little room the name of the step gives way, not the numbers.
        progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
            *bar,
            TextColumn("{task.fields[told]}", markup=False, table_column=Column(no_wrap=True, min_width=_COUNT)),
            console=console,
            transient=True,
            refresh_per_second=5,
        )
        progress.add_task("", total=None, told="")
        progress.start()
        return progress
