"""Digests that are known from an earlier reading of the same blobs.

A record of a test file names every path that had a say in its digests, with the SHA-256 of what was there, or "" for nothing. If all of
them are as they were, the digests are; one other byte, and the file is digested anew. The record is no authority: it lies in the user's own
cache, which code under judgement cannot reach.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Protocol, TypeVar

from trivet.git import Tree

_T = TypeVar("_T")
_KIND = "digests"
LISTING = "*"
"""Stands for the list of all sealed Python files among the paths that had a say."""

Record = dict[str, dict[str, str]]
"""``says``: path to SHA-256; ``strong``: function to digest ("" = no such function)."""


class Memory(Protocol):
    """Where records are kept: a cache, as ``trivet.stage.cache`` has it."""

    def get(self, kind: str, key: str, as_: type[_T]) -> _T | None:
        """A value, or None."""
        ...

    def put(self, kind: str, key: str, value: object) -> None:
        """Keep a value."""
        ...


class Book:
    """The records of the files of one tree; read once, written once.

    Args:
        memory: where they are kept.
        tree: where the files are.
        scope: what else digests depend on: which paths are sealed, and the import path.
        files: the test files whose records are wanted.
        listing: gives the paths of all sealed Python files.
    """

    def __init__(
        self, memory: Memory, tree: Tree, scope: Iterable[str], files: Iterable[str], listing: Callable[[], Iterable[str]]
    ) -> None:
        self._memory, self._tree, self._listing = memory, tree, listing
        parts = (build(), sys.version, *scope, "", *sorted(set(files)))
        self._key = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
        self._records: dict[str, Record] = memory.get(_KIND, self._key, dict[str, Record]) or {}
        self._hashes: dict[str, str] = {}
        self._holds: dict[str, bool] = {}
        self._changed = False

    def find(self, file: str, function: str) -> str | None:
        """The strong digest, "" where there is no such function, None where it is not known."""
        record = self._records.get(file)
        if record is None or function not in record.get("strong", {}):
            return None
        if file not in self._holds:
            self._holds[file] = all(self.hash_of(path) == known for path, known in record.get("says", {}).items())
        return record["strong"][function] if self._holds[file] else None

    def keep(self, file: str, function: str, strong: str, says: Iterable[str]) -> None:
        """Note a digest and the paths that had a say."""
        if not self._holds.get(file, False):
            self._records[file] = {"says": {}, "strong": {}}
            self._holds[file] = True
        record = self._records[file]
        record["strong"][function] = strong
        record["says"].update({path: self.hash_of(path) for path in says})
        self._changed = True

    def save(self) -> None:
        """Write what is new."""
        if self._changed:
            self._memory.put(_KIND, self._key, self._records)
            self._changed = False

    def hash_of(self, path: str) -> str:
        """SHA-256 of a file, or of the listing; "" where there is none."""
        if path not in self._hashes:
            data = "\0".join(sorted(self._listing())).encode("utf-8", "surrogatepass") if path == LISTING else self._read(path)
            self._hashes[path] = "" if data is None else hashlib.sha256(data).hexdigest()
        return self._hashes[path]

    def _read(self, path: str) -> bytes | None:
        return self._tree.read(path.encode("utf-8", "surrogateescape"))


def closure(path: str, asks: Mapping[str, Iterable[str]]) -> set[str]:
    """All paths that had a say in what a file reaches: its own, those it asked for, and those that these asked for."""
    found, new = {path}, [path]
    while new:
        more = {other for name in new for other in asks.get(name, ())} - found
        found |= more
        new = list(more)
    return found


@lru_cache(maxsize=1)
def build() -> str:
    """What makes digests: the bytes of the modules that do."""
    hasher = hashlib.sha256()
    for name in ("digest", "reach", "modules", "marks", "plain_code"):
        hasher.update(Path(__file__).with_name(f"{name}.py").read_bytes())
    return hasher.hexdigest()
