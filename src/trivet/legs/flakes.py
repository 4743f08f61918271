"""Why a test does not always end the same way: from the outcomes of one plain and several perturbed runs to a cause. Pure.

Each perturbed run changes one thing, or a few that what the test touched, or a close look, can tell apart. A test whose outcome differs in
a run of unchanged settings, or in several runs that have nothing in common, differs by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

CAUSES: Final = {
    "order": "other tests that run before it",
    "state": "state that it leaves in the process",
    "leftovers": "files that it leaves behind",
    "hash order": "the hash seed: the order of sets, or a hash",
    "random": "random numbers",
    "time": "the date or the time of day",
    "time zone": "the time zone",
    "threads": "the timing of threads, or the number of processors",
    "network": "the network",
    "locale": "the locale's encoding",
    "process id": "the process id",
    "working directory": "the working directory",
    "addresses": "addresses in memory",
    "chance": "nothing that was changed: it differs by itself",
}
"""What a cause says: the outcome depends on …"""

_GREEN: Final = frozenset({"passed", "xpassed"})
_SETTINGS: Final = ("order", "hash", "seed", "zone", "clock", "threads", "twice", "host", "again")
_ENCODING: Final = ("UnicodeDecodeError", "UnicodeEncodeError", "LookupError", "UnicodeError")
_REMOTE: Final = (
    *("gaierror", "herror", "timeout", "TimeoutError", "URLError", "OSError", "PermissionError"),
    *("ConnectionError", "ConnectionRefusedError", "ConnectError"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One test in all runs.

    ``plain``: its outcome in the plain run. ``outcomes``: run name to outcome, for the runs that reached it. ``failures``: run name, or
    ``plain``, to the type of the exception. ``touched``: what its body touched in the plain run. ``close``: what the close look
    found: ``needs`` or ``spoilt`` (ids), or ``setting``.
    """

    id: str
    plain: str
    outcomes: Mapping[str, str]
    failures: Mapping[str, str] = field(default_factory=dict)
    touched: Collection[str] = ()
    close: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flake:
    """What is said of one test.

    ``kind``: ``flaky`` (seen green and red), ``fails`` (red in every run), ``holds``. ``cause``: a key of ``CAUSES``, "" for a test that
    always ends the same way. ``shown_by``: the names of the runs in which it ended otherwise. ``detail``: the smallest pair or setting.
    """

    id: str
    kind: str
    cause: str = ""
    shown_by: tuple[str, ...] = ()
    detail: str = ""


def differs(was: str, now: str) -> bool:
    """Whether two outcomes differ in what counts: green or not."""
    return (was in _GREEN) != (now in _GREEN)


def flips(seen: Seen) -> tuple[str, ...]:
    """The runs in which the test ended otherwise than in the plain one."""
    return tuple(name for name in _SETTINGS if name in seen.outcomes and differs(seen.plain, seen.outcomes[name]))


def judge(seen: Seen) -> Flake:
    """Say why a test does not always end the same way."""
    shown = flips(seen)
    if not shown:
        return _steady(seen)
    cause, detail = _cause(seen, frozenset(shown))
    return Flake(id=seen.id, kind="flaky", cause=cause, shown_by=shown, detail=detail or _names(shown))


def _steady(seen: Seen) -> Flake:
    if seen.plain in _GREEN or seen.plain in ("skipped", "xfailed"):
        return Flake(id=seen.id, kind="holds")
    remote = "network" in seen.touched and seen.failures.get("plain", "").rpartition(".")[2] in _REMOTE
    detail = "it asks the network, which is denied: no other outcome was seen" if remote else ""
    return Flake(id=seen.id, kind="fails", cause="network" if remote else "", detail=detail)


def _cause(seen: Seen, shown: frozenset[str]) -> tuple[str, str]:
    """The cause and what is said of it; of several the one that explains the others comes first."""
    touched = frozenset(seen.touched)
    ways: tuple[tuple[bool, Callable[[], tuple[str, str]]], ...] = (
        ("threads" in touched and bool({"threads", "again"} & shown), lambda: ("threads", "")),
        ("again" in shown or _unrelated(shown, seen), lambda: (_by_itself(touched), "")),
        ("hash" in shown, lambda: ("hash order", "")),
        ("clock" in shown, lambda: ("time", "")),
        ("zone" in shown, lambda: ("time zone", "")),
        ("threads" in shown, lambda: ("threads", "with one processor")),
        ("host" in shown, lambda: _of_host(seen, touched)),
        ("seed" in shown, lambda: _of_seed(seen, touched)),
        ("order" in shown, lambda: ("order", _pair(seen.close))),
    )
    said = next((way for holds, way in ways if holds), None)
    return said() if said else ("leftovers" if "wrote" in touched else "state", "when it runs a second time in one process")


def _of_seed(seen: Seen, touched: frozenset[str]) -> tuple[str, str]:
    is_random = seen.close.get("setting") == "random seed" or "random" in touched
    return ("random" if is_random else "hash order"), ""


def _unrelated(shown: frozenset[str], seen: Seen) -> bool:
    """Whether the runs that differ have nothing in common but chance."""
    if seen.close.get("needs") or seen.close.get("spoilt"):
        return False
    groups = [{"hash", "seed"}, {"clock", "zone"}, {"order", "twice"}, {"threads"}, {"host"}]
    return sum(1 for group in groups if group & shown) > 2 or ({"threads", "hash"} <= shown)  # noqa: PLR2004 - two may be coupled


def _by_itself(touched: frozenset[str]) -> str:
    for flag, cause in (("network", "network"), ("entropy", "random"), ("pid", "process id"), ("ids", "addresses")):
        if flag in touched:
            return cause
    return "chance"


def _of_host(seen: Seen, touched: frozenset[str]) -> tuple[str, str]:
    setting = str(seen.close.get("setting", ""))
    if setting in ("network", "working directory", "process id", "locale"):
        return setting, ""
    if setting == "random seed":
        return "random", ""
    failure = seen.failures.get("host", seen.failures.get("plain", "")).rpartition(".")[2]
    if failure in _ENCODING:
        return "locale", ""
    for flag, cause in (("network", "network"), ("pid", "process id"), ("relative", "working directory"), ("cwd", "working directory")):
        if flag in touched:
            return cause, ""
    return "locale", ""


def _pair(close: Mapping[str, object]) -> str:
    for name, word in (("needs", "needs"), ("spoilt", "is spoilt by")):
        ids = close.get(name)
        if isinstance(ids, Sequence) and not isinstance(ids, str) and ids:
            return f"{word} {', then '.join(map(str, ids))}"
    return "in reverse order"


_WORDS: Final = {
    "order": "reverse order",
    "hash": "another hash seed",
    "seed": "another hash seed and random seed",
    "zone": "another time zone",
    "clock": "another date",
    "threads": "one processor, threads that start late",
    "twice": "a second time in one process",
    "host": "another locale, folder, process id and network",
    "again": "the same settings",
}


def words(name: str) -> str:
    """What a perturbed run changes."""
    return _WORDS[name]


def _names(shown: Sequence[str]) -> str:
    return "shown by " + "; ".join(_WORDS[name] for name in shown)
