"""The digest of a sealed test: its code and everything of the sealed tree that it reaches. Compiled, never imported.

Reached are module-level names the test uses, fixtures by argument name and those that act unasked, hooks of the ``conftest.py`` files
above it, sealed helpers it imports, and of its class everything but the other tests. Of production code only the names are kept: a
patch of ``src`` must not void a lease.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache

from trivet.errors import UsageError
from trivet.git import Tree
from trivet.sealed.digest_memory import Book, Memory, closure
from trivet.sealed.modules import Library, Module, deep_trees
from trivet.sealed.plain_code import Memo, Plain, code_digest, source_digest, weak_digest
from trivet.sealed.reach import OWN, Bares, Reach

MODULE = "<module>"
"""Stands for a whole file where a function is asked for."""

PYTHON_TAG = sys.implementation.cache_tag or sys.implementation.name
"""The interpreter whose compiler made the strong digest."""


class Digest:
    """``strong`` (``v1:`` and 64 hex digits, of compiled code), ``weak`` (16 hex digits or ""), ``source_hash`` (64), ``python`` (tag).

    All but the strong one are made when they are asked for.
    """

    __slots__ = ("_source", "_weak", "python", "strong")

    def __init__(self, strong: str, source: Callable[[], str], weak: Callable[[], str]) -> None:
        self.strong, self.python = strong, PYTHON_TAG
        self._source, self._weak = source, weak

    @property
    def source_hash(self) -> str:
        """The digest of the syntax tree."""
        return self._source()

    @property
    def weak(self) -> str:
        """The legacy form."""
        return self._weak()


class Digests:
    """Digests of the tests of one tree; what several tests reach is compiled once.

    Args:
        tree: where the tests are.
        is_sealed: whether a path belongs to the sealed tree.
        roots: the import path of the scoring tree.
    """

    def __init__(self, tree: Tree, is_sealed: Callable[[bytes], bool], roots: tuple[str, ...] = ("src", ".")) -> None:
        self.library = Library(tree, is_sealed, roots)
        self.book: Book | None = None
        self._roots = roots
        self._bares: Bares = {}
        self._memo: Memo = {}
        self._codes: dict[tuple[str, int, int], bytes] = {}
        self._trees: dict[tuple[str, int, int], tuple[Plain, bytes]] = {}
        self._done: dict[tuple[str, str], Digest | None] = {}

    def remember(self, memory: Memory, files: Iterable[str], scope: Iterable[str]) -> None:
        """Take known digests of some files from ``memory``; ``book.save`` keeps the new ones."""
        self.book = Book(memory, self.library.tree, (*scope, "", *self._roots), files, self.library.sealed_files)

    def of(self, file: str, function: str) -> Digest | None:
        """The digest of ``name``, ``Class.name`` or ``<module>`` in a file; None where there is no such thing."""
        key = (file, function)
        if key not in self._done:
            known = None if self.book is None else self.book.find(*key)
            if known is None:
                self._done[key] = digest = self._fresh(file, function)
                if self.book is not None:
                    self.book.keep(file, function, "" if digest is None else digest.strong, closure(file, self.library.asks))
            else:
                self._done[key] = self._known(file, function, known) if known else None
        return self._done[key]

    def _fresh(self, file: str, function: str) -> Digest | None:
        with deep_trees():
            module = self.library.get(file)
            try:
                return None if module is None else self._digest(module, function)
            except RecursionError:  # no digest, no lease
                return None

    def _known(self, file: str, function: str, strong: str) -> Digest:
        def source() -> str:
            fresh = self._fresh(file, function)
            return "" if fresh is None else fresh.source_hash

        def weak() -> str:
            return weak_digest(self.library.tree.read(file.encode("utf-8", "surrogateescape")) or b"", function)

        return Digest(strong, source, weak)

    def all(self, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Digest | None]:
        """The digests of many tests at once, by file and function."""
        with deep_trees():
            return {place: self.of(*place) for place in dict.fromkeys(places)}

    def _digest(self, module: Module, function: str) -> Digest | None:
        reach = Reach(self.library, module, self._bares, self._memo)
        if not (reach.whole() if function == MODULE else reach.test(function)):
            return None
        words: set[bytes] = set()
        found: list[tuple[str, Module, ast.stmt, Plain]] = []
        for piece in reach.pieces():
            if isinstance(piece, str):
                words.add(piece.encode("utf-8", "surrogatepass"))
            elif piece[3] is not None:
                found.append((piece[0], piece[1], piece[2], piece[3]))
        strong = _combined(b"trivet lease digest v1\n", words, ((row[0], self._code(*row)) for row in found))
        source = lru_cache(maxsize=1)(
            lambda: _combined(b"trivet source digest v1\n", words, ((row[0], self._tree(row[1], row[2], row[3])) for row in found))
        )
        read = self.library.tree.read
        path = module.path.encode("utf-8", "surrogateescape")
        return Digest(f"v1:{strong}", source, lambda: weak_digest(read(path) or b"", function))

    def _code(self, label: str, owner: Module, node: ast.stmt, bare: Plain) -> bytes:
        key = (owner.path, node.lineno, node.col_offset)
        if label in OWN or key not in self._codes:
            try:
                made = code_digest(bare.statement, future_annotations=owner.future_annotations)
            except (SyntaxError, ValueError, RecursionError):
                made = source_digest(bare.statement)
            if label in OWN:
                return made
            self._codes[key] = made
        return self._codes[key]

    def _tree(self, owner: Module, node: ast.stmt, bare: Plain) -> bytes:
        key = (owner.path, node.lineno, node.col_offset)
        known = self._trees.get(key)
        if known is None or known[0] is not bare:
            with deep_trees():
                known = self._trees[key] = (bare, source_digest(bare.statement))
        return known[1]


def _combined(head: bytes, words: Iterable[bytes], pieces: Iterable[tuple[str, bytes]]) -> str:
    """One digest of names that lie outside, and of labelled pieces, in an order that the place in the file has no part in."""
    hasher = hashlib.sha256(head)
    rows = {(word, b"") for word in words} | {(label.encode("utf-8", "surrogatepass"), digest) for label, digest in pieces}
    for label, digest in sorted(rows):
        hasher.update(len(label).to_bytes(8, "big") + label + digest)
    return hasher.hexdigest()


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
