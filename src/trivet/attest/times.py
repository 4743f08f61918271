"""Times as statements write them, ``2026-12-01T04:30:00Z``: one form only, so that no changed time can mean the same."""

from __future__ import annotations

import time

_LENGTH = len("2026-12-01T04:30:00Z")
_DAY_S = 86_400


def written(seconds: float) -> str:
    """Seconds since the epoch (whole ones count) as text."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(seconds)))


def read(text: object) -> int:
    """The seconds since the epoch that ``written`` gives this text for.

    Raises:
        ValueError: it is not in exactly this form, or there is no such time.
    """
    if not isinstance(text, str) or len(text) != _LENGTH or not text.isascii():
        raise ValueError(f"{text!r} is no time like 2026-12-01T04:30:00Z")
    try:
        year, month, day = int(text[0:4]), int(text[5:7]), int(text[8:10])
        seconds = _days(year, month, day) * _DAY_S + int(text[11:13]) * 3600 + int(text[14:16]) * 60 + int(text[17:19])
        same = written(seconds) == text
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"{text!r} is no time like 2026-12-01T04:30:00Z") from error
    if not same:
        raise ValueError(f"{text!r} is no time like 2026-12-01T04:30:00Z")
    return seconds


def _days(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 in the Gregorian calendar; years start in March here, so that the leap day comes last."""
    year -= month <= 2  # noqa: PLR2004 - January and February belong to the year before
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
