"""The digest of a sealed test: its code and everything of the sealed tree that it reaches. Compiled, never imported.

Reached are module-level names the test uses, fixtures by argument name and those that act unasked, hooks of the ``conftest.py`` files
above it, sealed helpers it imports, and of its class everything but the other tests. Of production code only the names are kept: a
patch of ``src`` must not void a lease.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass

from trivet.errors import UsageError
from trivet.git import Tree
from trivet.sealed.modules import Library, Module, deep_trees
from trivet.sealed.plain_code import code_digest, source_digest, weak_digest
from trivet.sealed.reach import OWN, Bare, Bares, Reach

MODULE = "<module>"
"""Stands for a whole file where a function is asked for."""

PYTHON_TAG = sys.implementation.cache_tag or sys.implementation.name
"""The interpreter whose compiler made the strong digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """``strong`` (``v1:`` and 64 hex digits, of compiled code), ``weak`` (16 hex digits or ""), ``source_hash`` (64), ``python`` (tag)."""

    strong: str
    weak: str
    source_hash: str
    python: str


class Digests:
    """Digests of the tests of one tree; what several tests reach is compiled once."""

    def __init__(self, tree: Tree, is_sealed: Callable[[bytes], bool], roots: tuple[str, ...] = ("src", ".")) -> None:
        self.library = Library(tree, is_sealed, roots)
        self._bares: Bares = {}
        self._pieces: dict[tuple[str, int, int], tuple[bytes, bytes]] = {}
        self._done: dict[tuple[str, str], Digest | None] = {}

    def of(self, file: str, function: str) -> Digest | None:
        """The digest of ``name``, ``Class.name`` or ``<module>`` in a file; None where there is no such thing."""
        key = (file, function)
        if key not in self._done:
            with deep_trees():
                module = self.library.get(file)
                try:
                    self._done[key] = None if module is None else self._digest(module, function)
                except RecursionError:  # no digest, no lease
                    self._done[key] = None
        return self._done[key]

    def _digest(self, module: Module, function: str) -> Digest | None:
        reach = Reach(self.library, module, self._bares)
        if not (reach.whole() if function == MODULE else reach.test(function)):
            return None
        strong, source = hashlib.sha256(b"trivet lease digest v1\n"), hashlib.sha256(b"trivet source digest v1\n")
        rows = set()
        for piece in reach.pieces():
            if isinstance(piece, str):
                rows.add((piece.encode("utf-8", "surrogatepass"), b"", b""))
                continue
            label, owner, node, bare = piece
            made = None if bare is None else self._made(owner, label, (node.lineno, node.col_offset), bare)
            if made is not None:
                rows.add((label.encode("utf-8", "surrogatepass"), *made))
        for label_bytes, code, tree in sorted(rows):
            strong.update(len(label_bytes).to_bytes(8, "big") + label_bytes + code)
            source.update(len(label_bytes).to_bytes(8, "big") + label_bytes + tree)
        data = self.library.tree.read(module.path.encode("utf-8", "surrogateescape")) or b""
        weak = weak_digest(data, function)
        return Digest(strong=f"v1:{strong.hexdigest()}", weak=weak, source_hash=source.hexdigest(), python=PYTHON_TAG)

    def _made(self, owner: Module, label: str, place: tuple[int, int], bare: Bare) -> tuple[bytes, bytes]:
        if label in OWN:
            return _make(owner, bare)
        key = (owner.path, *place)
        if key not in self._pieces:
            self._pieces[key] = _make(owner, bare)
        return self._pieces[key]


def _make(owner: Module, bare: Bare) -> tuple[bytes, bytes]:
    tree = source_digest(bare.statement)
    try:
        return code_digest(bare.statement, future_annotations=owner.future_annotations), tree
    except (SyntaxError, ValueError, RecursionError):
        return tree, tree


def digest_of(tree: Tree, file: str, function: str, *, is_sealed: Callable[[bytes], bool], roots: tuple[str, ...] = ("src", ".")) -> Digest:
    """The digest of one test.

    Args:
        tree: where the file is.
        file: its path, relative to the tree's root.
        function: ``name``, ``Class.name`` or ``<module>``.
        is_sealed: whether a path belongs to the sealed tree.
        roots: the import path of the scoring tree (``score.paths``).

    Raises:
        UsageError: there is no such file or function, or the file is no Python.
    """
    digests = Digests(tree, is_sealed, roots)
    digest = digests.of(file, function)
    if digest is None:
        missing = digests.library.get(file) is None
        what = f"no Python file {file}" if missing else f"{file} has no {function}"
        raise UsageError(what, where=tree.label, hint="FILE is relative to the folder; FUNCTION is `name` or `Class.name`")
    return digest
