"""JSON that can be read in one way only, with the place of each row.

The standard decoder keeps the last of two equal keys, turns ``1e400`` into infinity and accepts ``NaN``. Here these are refused, and
the rows of one list are given with their offsets, so that an edit can replace one row and leave every other byte as it is.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from json import JSONDecoder

_BLANKS = " \t\n\r"
_SURROGATE = re.compile("[\ud800-\udfff]")


class StrictError(ValueError):
    """The text is not strict JSON. ``kind`` is ``syntax``, ``duplicate`` or ``number``; ``line`` counts from 1."""

    def __init__(self, kind: str, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.kind, self.message, self.line = kind, message, line


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One element of the list: its value, its offsets in the text (characters), its line from 1, and what its JSON breaks."""

    value: object
    start: int
    stop: int
    line: int
    problems: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """An object of which ``rows`` is the list under the key asked for (None: no such list); ``other`` names its other keys."""

    text: str
    rows: tuple[Row, ...] | None
    other: tuple[str, ...]
    problems: tuple[tuple[str, str], ...]


def read_document(data: bytes, key: str) -> Document:
    """Read ``{key: [row, …]}``.

    Raises:
        StrictError: the bytes are not UTF-8, not JSON, or not an object.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StrictError("syntax", f"not UTF-8 at byte {error.start}") from None
    if text.startswith("\ufeff"):
        raise StrictError("syntax", "byte order mark", 1)
    whole = _decode(text, 0)
    if _skip(text, whole[1]) != len(text):
        raise StrictError("syntax", "text after the end of the object", _line(text, whole[1]))
    if not isinstance(whole[0], dict):
        raise StrictError("syntax", "the ledger is not an object")
    if not isinstance(whole[0].get(key), list):
        return Document(text=text, rows=None, other=tuple(name for name in whole[0] if name != key), problems=tuple(whole[2]))
    start = _find_list(text, key)
    rows = tuple(_rows(text, start))
    inner = [problem for row in rows for problem in row.problems]
    outer = [problem for problem in whole[2] if problem not in inner]
    return Document(text=text, rows=rows, other=tuple(name for name in whole[0] if name != key), problems=tuple(outer))


class _Watch:
    """The decoder's hooks: they note what the standard decoder would accept."""

    def __init__(self) -> None:
        self.problems: list[tuple[str, str]] = []

    def pairs(self, items: list[tuple[str, object]]) -> dict[str, object]:
        seen: dict[str, object] = {}
        for name, value in items:
            if name in seen:
                self.problems.append(("duplicate", f"key {name!r} stands twice"))
            if _SURROGATE.search(name) or (isinstance(value, str) and _SURROGATE.search(value)):
                self.problems.append(("syntax", f"half a surrogate pair in {name!r}"))
            seen[name] = value
        return seen

    def constant(self, name: str) -> float:
        self.problems.append(("number", f"{name} is no number of JSON"))
        return float(name.replace("Infinity", "inf"))

    def number(self, digits: str) -> float:
        value = float(digits)
        if not math.isfinite(value):
            self.problems.append(("number", f"{digits} is too large"))
        return value


def _decode(text: str, at: int) -> tuple[object, int, list[tuple[str, str]]]:
    watch = _Watch()
    decoder = JSONDecoder(object_pairs_hook=watch.pairs, parse_constant=watch.constant, parse_float=watch.number)
    try:
        value, stop = decoder.raw_decode(text, _skip(text, at))
    except json.JSONDecodeError as error:
        raise StrictError("syntax", error.msg, error.lineno) from None
    except RecursionError:
        raise StrictError("syntax", "nested too deeply") from None
    except ValueError:  # an integer with more digits than Python converts
        raise StrictError("syntax", "a number with too many digits") from None
    return value, stop, watch.problems


def _find_list(text: str, key: str) -> int:
    """The offset behind ``[`` of the last value of ``key`` in the outer object (the text is known to be good JSON)."""
    at = _skip(text, text.index("{") + 1)
    found = -1
    while text[at] == '"':
        name, at, _ = _decode(text, at)
        at = _skip(text, _skip(text, at) + 1)  # the colon
        if name == key:
            found = at
        at = _skip(text, _decode(text, at)[1])
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found + 1


def _rows(text: str, at: int) -> list[Row]:
    rows: list[Row] = []
    at = _skip(text, at)
    while text[at] != "]":
        value, stop, problems = _decode(text, at)
        rows.append(Row(value=value, start=at, stop=stop, line=_line(text, at), problems=tuple(problems)))
        at = _skip(text, stop)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return rows


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
