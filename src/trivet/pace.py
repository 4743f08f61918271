"""How far a run is, while it goes: counted where records are read, shown by the door. It decides nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """One look at one run. ``run`` names it among those side by side; ``total`` is 0 until its tests are collected.

    ``test``: the one that runs now ("" between two). ``over``: the run has ended, however it did.
    """

    run: str
    what: Literal["tests", "controls", "commits"] = "tests"
    done: int = 0
    total: int = 0
    test: str = ""
    over: bool = False


Ticker = Callable[[Tick], None]
"""Told from the threads that read records, several times a second: it must be quick and must not raise."""


def still(_tick: Tick) -> None:
    """Tell nobody."""
    return


class Show:
    """What a walk tells of itself while it goes; this one tells nobody. The door's own overrides what it shows."""

    def step(self, line: str) -> None:
        """A step begins."""

    def tick(self, tick: Tick) -> None:
        """A run has got further; called from several threads."""

    def leg(self, name: str, status: str, cause: str) -> None:
        """A leg has its verdict."""


SILENT = Show()
