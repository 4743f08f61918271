"""When leased tests were last seen failing, as this user's runs saw them: kept in the cache, for ``trivet lease list``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trivet.legs.lease import function_of
from trivet.model import LeaseMatch, TestResult
from trivet.stage.cache import Cache, key_of

_KIND = "sightings"
_GREEN = ("passed", "xpassed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """Moments (seconds since the epoch, 0 = never) at which a leased test last failed and last passed with its marks lifted."""

    failed: float = 0.0
    passed: float = 0.0


def last(cache: Cache, match: LeaseMatch) -> Sighting:
    """What is known of one row."""
    return cache.get(_KIND, _key(match), Sighting) or Sighting()


def note(cache: Cache, matches: Iterable[LeaseMatch], lifted: Iterable[TestResult], now: float) -> None:
    """Keep what runs with marks lifted have shown."""
    results: dict[tuple[str, str], list[TestResult]] = {}
    for result in lifted:
        results.setdefault(function_of(result.id), []).append(result)
    for match in matches:
        seen = results.get((match.file, match.function), []) if match.lease is not None else []
        if not seen:
            continue
        known = last(cache, match)
        fails = any(result.outcome not in _GREEN for result in seen)
        cache.put(_KIND, _key(match), Sighting(failed=now if fails else known.failed, passed=known.passed if fails else now))


def _key(match: LeaseMatch) -> str:
    signature = "" if match.lease is None else match.lease.signature
    return key_of({"file": match.file, "function": match.function, "signature": signature})
