"""Names that mean nothing: no pattern and no built-in list looks at them. What is said of one is said of all.

A pattern for a whole suffix (``*.py``) asks no more than the suffix does; every other pattern for a name makes the names special that it
may match. Whatever is in doubt is special: that costs time and nothing else. A property test compares with the long way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Self

from trivet.zones_patterns import Matcher

Key = tuple[bytes, bytes]
"""Folder and suffix (without its dot) of an ordinary path; both empty for every other path."""

_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_+@=,-]*")
_WHOLE_SUFFIX = re.compile(r"\.[A-Za-z0-9_]+")
_ACTING = r"(?i:conftest\.|sitecustomize\.|usercustomize\.)"
_ACTING_SUFFIXES = r"(?i:pth|_pth|pyc|pyo|git|cfg)\0"
_ACTING_FOLDER = re.compile(r"customize|pycache|info|egg", re.IGNORECASE)
_ALWAYS = frozenset(("PKG-INFO",))


class Ordinary:
    """Tells paths that mean nothing to some patterns, nor to the built-in list of names that act by themselves.

    Args:
        special: names of files or folders that patterns name.
        begins: beginnings of such names.
        ends: endings of such names.
        folders: folders that patterns name, each with a slash at its end.
    """

    __slots__ = ("_begins", "_ends", "_parts", "_paths", "_prefixes", "_special")

    def __init__(self, special: frozenset[str], begins: tuple[str, ...], ends: tuple[str, ...], folders: tuple[str, ...]) -> None:
        self._special, self._begins, self._ends = special, begins, ends
        self._prefixes = frozenset(folder[: at + 1] for folder in folders for at, char in enumerate(folder) if char == "/")
        self._parts: dict[str, bool] = {}
        odd = [re.escape(name) + r"\0" for name in sorted(special)]
        odd += [re.escape(begin) for begin in begins]
        odd += [r"[^\0]*" + re.escape(end) + r"\0" for end in ends if not _WHOLE_SUFFIX.fullmatch(end)]
        name = rf"(?!{'|'.join([_ACTING, *odd])})[A-Za-z0-9_][A-Za-z0-9_+@=,-]*\.(?!{_ACTING_SUFFIXES})([A-Za-z0-9_]+)"
        self._paths = re.compile(rf"(?:([^\0]+)/{name}|[^\0]*)\0".encode("utf-8", "surrogateescape"))

    @classmethod
    def of(cls, *matchers: Matcher) -> Self | None:
        """What means nothing to all of these; None where their patterns do not allow to tell."""
        tests = [one.name_tests for one in matchers]
        rows = [row for row in tests if row is not None]
        if len(rows) != len(tests):
            return None
        special = _ALWAYS.union(*(row.names for row in rows))
        begins = dict.fromkeys(begin for row in rows for begin in (*row.begins, *(first for first, _ in row.inside)))
        ends = dict.fromkeys(end for row in rows for end in row.ends)
        return cls(special, tuple(begins), tuple(ends), tuple(folder for row in rows for folder in row.folders))

    def keys(self, paths: Iterable[bytes]) -> list[Key]:
        """One key for each path; paths of one key are in one zone by one rule. All are read in one go: that is what makes it quick."""
        return self._paths.findall(b"\0".join((*paths, b"")))

    def is_folder(self, path: str, part: str) -> bool:
        """Whether a folder (its path, and the last part of it) means nothing, nor does anything that patterns name lie below it."""
        plain = self._parts.get(part)
        if plain is None:
            named = part in self._special or part.startswith(self._begins) or part.endswith(self._ends)
            plain = self._parts[part] = _FOLDER.fullmatch(part) is not None and not named and not _ACTING_FOLDER.search(part)
        return plain and path + "/" not in self._prefixes
