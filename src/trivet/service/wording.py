"""Numbers as people read them: times in ISO form, ages and durations in words, counts with thin groups. Pure; ``now`` is an argument."""

from __future__ import annotations

import math
from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_UNITS = ((365 * _DAY, "year"), (30 * _DAY, "month"), (_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute"), (1, "second"))


def stamp(at: float) -> str:
    """A time as people read it: ``2026-12-01 04:30 UTC``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def machine(at: float) -> str:
    """A time for the ``datetime`` attribute: ``2026-12-01T04:30:05Z``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def day(at: float) -> str:
    """The UTC day: ``2026-12-01``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def ago(at: float, now: float) -> str:
    """How far a time is away: ``3 minutes ago``, ``in 2 days``, ``now``."""
    away = abs(at - now)
    for size, noun in _UNITS:
        if away >= size * (2 if noun == "month" else 1):  # "40 days" says more than "1 month"
            told = counted(int(away // size), noun)
            return f"in {told}" if at > now else f"{told} ago"
    return "now"


def counted(number: int, noun: str) -> str:
    """A count with its noun: ``1 test``, ``2,000 tests``."""
    plural = noun[:-1] + "ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else noun + "s"
    return f"{number:,} {noun if number == 1 else plural}"


def span(seconds: float | None) -> str:
    """A duration: ``8 ms``, ``4.2 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds is None:
        return ""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.001 else f"{seconds * 1000:.1f} ms"  # noqa: PLR2004 - a millisecond
    if seconds < 10:  # noqa: PLR2004 - from here on a tenth tells nothing
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min" + (f" {whole % _MINUTE} s" if whole % _MINUTE else "")
    return f"{whole // _HOUR} h" + (f" {whole % _HOUR // _MINUTE} min" if whole % _HOUR >= _MINUTE else "")


def percent(part: int, whole: int) -> str:
    """A share that is never rounded to all or nothing: ``99 %`` where one of a thousand is missing."""
    if not whole:
        return "\N{EN DASH}"
    share = 100 * part / whole
    return f"{min(99, max(1, round(share))) if 0 < part < whole else round(share)} %"


def short(oid: str) -> str:
    """An object id as git abbreviates it."""
    return oid[:12]


def nice_top(value: float) -> int:
    """The end of an axis that holds ``value``: 1, 2, 5 times a power of ten; at least 1."""
    if value <= 1:
        return 1
    power = 10 ** math.floor(math.log10(value))
    return next(int(step * power) for step in (1, 2, 5, 10) if step * power >= value)
