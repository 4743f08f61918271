"""Which keys of a TOML file two versions disagree about."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

_MAX_B = 10 * 1024 * 1024


def changed_keys(old: bytes, new: bytes) -> tuple[str, ...] | None:
    """The dotted keys whose values differ, sorted; None when either text is not TOML. Comments, order and layout do not count."""
    if max(len(old), len(new)) > _MAX_B:
        return None
    try:
        before, after = (tomllib.loads(text.decode("utf-8")) for text in (old, new))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError, ValueError):
        return None
    return tuple(sorted(_differing(before, after)))


def _differing(old: Any, new: Any, at: str = "") -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            # A dot inside a quoted key must not look like a step into a table.
            name = key if "." not in key and key else repr(key)
            below = f"{at}.{name}" if at else name
            if key in old and key in new:
                yield from _differing(old[key], new[key], below)
            else:
                yield from _leaves(old.get(key, new.get(key)), below)
    elif type(old) is not type(new) or repr(old) != repr(new):
        yield at


def _leaves(value: Any, at: str) -> Iterator[str]:
    """The keys that come or go with a whole table: each of them, so that none hides behind an allowed neighbour."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            name = key if "." not in key and key else repr(key)
            yield from _leaves(inner, f"{at}.{name}")
    else:
        yield at
