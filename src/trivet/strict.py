"""JSON that can be read in one way only: the standard decoder keeps the last of two equal keys and accepts NaN, Infinity and ``1e400``."""

from __future__ import annotations

import json
from typing import Any


def loads(text: str | bytes) -> Any:
    """Decode JSON in which no key stands twice in an object and every number is finite.

    Raises:
        ValueError: it is not, or it is no JSON, or bytes are not UTF-8.
        RecursionError: it is nested too deeply.
    """
    text = text if isinstance(text, str) else text.decode()
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is no finite number")
    return number
