"""The words of a diagnosis: checks, and what they come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

State = Literal["held", "open", "unavailable"]
Group = Literal["kernel", "bubblewrap", "host", "repository"]
SHOWN = 20
"""Problems of one kind that are told one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at.

    ``group`` is the back end, or ``host`` or ``repository``; ``state``: held (as it should be), open (it is not), unavailable (cannot be
    had or seen here). ``remedy``: what to do about it, "" when nothing is to be done. ``level`` "warning": what is open is told, and does
    not count for the exit status unless that is asked for. ``place``: the file it is about, with a line where there is one.
    """

    group: str
    name: str
    state: State
    detail: str = ""
    remedy: str = ""
    level: Literal["error", "warning"] = "error"
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is open in the repository, before it has the name of its check."""

    detail: str
    remedy: str
    place: str = ""
    level: Literal["error", "warning"] = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """All checks, and the wall that ``auto`` takes here ("" = none can be had, then ``hint`` says what to do; None = not looked at)."""

    checks: tuple[Check, ...]
    auto: str | None
    hint: str = ""
    lacks: tuple[str, ...] = ()
    strict: bool = False

    @property
    def status(self) -> int:
        """The exit status: 0 all held, 1 something is open (a warning only when ``strict``), 3 no wall can be had."""
        if self.auto == "":
            return 3
        groups = (self.auto, "host", "repository")
        rows = [check for check in self.checks if check.state == "open" and check.group in groups]
        return int(any(self.strict or check.level == "error" for check in rows))


def told(name: str, problems: Iterable[Problem], *, held: str) -> Iterator[Check]:
    """The checks of one name: a row for each problem, or one that says what holds."""
    found = [*problems]
    if not found:
        yield Check(group="repository", name=name, state="held", detail=held)
    for problem in found[:SHOWN]:
        yield Check(
            group="repository",
            name=name,
            state="open",
            detail=problem.detail,
            remedy=problem.remedy,
            level=problem.level,
            place=problem.place,
        )
    more = found[SHOWN:]
    if more:
        level: Literal["error", "warning"] = "error" if any(problem.level == "error" for problem in more) else "warning"
        detail = f"and {len(more)} more of this kind"
        yield Check(group="repository", name=name, state="open", detail=detail, remedy=more[0].remedy, level=level)


def unseen(name: str, detail: str, remedy: str) -> Check:
    """A check that could not be made, with how it could."""
    return Check(group="repository", name=name, state="unavailable", detail=detail, remedy=remedy, level="warning")
