"""Gitignore-style patterns. The usual ones (``src/**``, ``*.md``, ``LICENSE*``, a file's name) are matched without a regular expression.

``pathspec`` decides what a pattern means; the quick way says the same for the forms it knows, and a property test holds the two together.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from pathspec import GitIgnoreSpec

_PLAIN = re.compile(r"[A-Za-z0-9_.+@=,-]+")
_STAR_INSIDE = re.compile(r"([A-Za-z0-9_.+@=,-]+)\*([A-Za-z0-9_.+@=,-]+)")
_STAR = re.compile(r"([A-Za-z0-9_.+@=,-]*)\*([A-Za-z0-9_.+@=,-]*)")
_MATCHER_CACHE = 512


class NameTests(NamedTuple):
    """Tests of one part of a path: all that it can matter for, besides what lies above it. ``folders``: the folders named in patterns."""

    names: frozenset[str]
    begins: tuple[str, ...]
    ends: tuple[str, ...]
    inside: tuple[tuple[str, str], ...]
    folders: tuple[str, ...]


class Matcher:
    """A list of patterns, compiled; the last pattern that matches decides (``!`` takes a path out again)."""

    __slots__ = ("_begins", "_ends", "_folders", "_inside", "_names", "_patterns", "_spec", "_top", "_whole")

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self._patterns = patterns
        self._folders: tuple[str, ...] = ()
        self._whole: frozenset[str] = frozenset()
        self._names: frozenset[str] = frozenset()
        self._begins: tuple[str, ...] = ()
        self._ends: tuple[str, ...] = ()
        self._inside: tuple[tuple[str, str], ...] = ()
        self._top: tuple[tuple[str, str, bool], ...] = ()
        self._spec: GitIgnoreSpec | None = None
        # An exception depends on the order of all patterns, so that nothing may be taken out of the list.
        if any(pattern.lstrip().startswith("!") for pattern in patterns):
            self._spec = GitIgnoreSpec.from_lines(patterns)
            return
        rest = [pattern for pattern in patterns if not self._take(pattern)]
        if rest:
            self._spec = GitIgnoreSpec.from_lines(rest)

    def _take(self, pattern: str) -> bool:
        """Take a pattern of a form that needs no regular expression."""
        body = pattern.removeprefix("/")
        anchored = body != pattern
        if body.endswith("/**") and _parts_are_plain(body[:-3]):
            self._folders += (body[:-2],)
        elif body.endswith("/") and anchored and _parts_are_plain(body[:-1]):
            self._folders += (body,)
        elif _parts_are_plain(body) and (anchored or "/" in body):
            self._whole |= {body}
            self._folders += (body + "/",)
        elif anchored:
            return self._take_top(body)
        elif "/" in body:
            return False
        elif _PLAIN.fullmatch(body):
            self._names |= {body}
        elif body.startswith("*") and _PLAIN.fullmatch(body[1:]):
            self._ends += (body[1:],)
        elif body.endswith("*") and _PLAIN.fullmatch(body[:-1]):
            self._begins += (body[:-1],)
        elif (found := _STAR_INSIDE.fullmatch(body)) is not None:
            self._inside += ((found[1], found[2]),)
        else:
            return False
        return True

    def _take_top(self, body: str) -> bool:
        """Take ``/NAME*END`` and ``/NAME*END/**``: one star in the first part of the path."""
        below = body.endswith("/**")
        found = _STAR.fullmatch(body.removesuffix("/**"))
        if found is None or not (found[1] or found[2]):
            return False
        self._top += ((found[1], found[2], below),)
        return True

    @property
    def name_tests(self) -> NameTests | None:
        """What of a part of a path can matter to the patterns; None where that cannot be told (then every path is matched whole)."""
        if self._spec is None:
            names = self._names | {path.rpartition("/")[2] for path in self._whole}
            return NameTests(names=names, begins=self._begins, ends=self._ends, inside=self._inside, folders=self._folders)
        bare = Matcher(tuple(pattern.strip().removeprefix("!") for pattern in self._patterns))
        return bare.name_tests if bare._spec is None else None

    def __call__(self, path: str) -> bool:
        """Whether the patterns match a path (text, relative, without a slash at either end)."""
        if (self._folders and path.startswith(self._folders)) or path in self._whole:
            return True
        if self._names or self._begins or self._ends or self._inside:
            for part in path.split("/"):
                if part in self._names or part.startswith(self._begins) or part.endswith(self._ends):
                    return True
                for begin, end in self._inside:
                    if part.startswith(begin) and part.endswith(end) and len(part) >= len(begin) + len(end):
                        return True
        if self._top:
            first, slash, _ = path.partition("/")
            for begin, end, below in self._top:
                if first.startswith(begin) and first.endswith(end) and len(first) >= len(begin) + len(end) and (slash or not below):
                    return True
        return self._spec is not None and self._spec.match_file(path)


def _parts_are_plain(text: str) -> bool:
    return bool(text) and all(_PLAIN.fullmatch(part) and part not in (".", "..") for part in text.split("/"))


@lru_cache(maxsize=_MATCHER_CACHE)
def matcher(patterns: tuple[str, ...]) -> Matcher:
    """The compiled form of some patterns, made once."""
    return Matcher(patterns)
