"""What a test reaches in the sealed tree: module-level names, fixtures, hooks, helpers, and its class without the other tests."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from trivet.sealed.modules import Function, Library, Module
from trivet.sealed.plain_code import Memo, Plain, plain

_TEST, _INHERITED = "test", "inherited test"
OWN = frozenset({_TEST, _INHERITED})
"""Labels of pieces that are made for one test alone: a class without its other tests."""


Piece = tuple[str, Module, ast.stmt, Plain | None]
Bares = dict[tuple[str, int, int], Plain | None]
"""Pieces that several tests reach, by place: they are made plain once."""


class Reach:
    """What one test reaches: pieces of sealed code, and names of what lies outside of it."""

    def __init__(self, library: Library, module: Module, bares: Bares, memo: Memo) -> None:
        self._library = library
        self._bares, self._memo = bares, memo
        self._module = module
        self._levels: tuple[Module, ...] = (module, *library.conftests(module.path))
        self._seen: set[tuple[str, str, int, int]] = set()
        self._found: list[Piece] = []
        self._outside: set[str] = set()

    def pieces(self) -> Iterator[Piece | str]:
        """All that was reached."""
        yield from self._found
        yield from sorted(self._outside)

    def whole(self) -> bool:
        """Reach everything of the module."""
        self._outer(self._module, "")
        self._surroundings()
        return True

    def test(self, function: str) -> bool:
        """Reach one test; False where the module has none of that name."""
        taken = self._method(self._module, function.split(".")) if "." in function else self._plain_test(function)
        if taken:
            self._surroundings()
        return taken

    # --- where the test is ------------------------------------------------------------------------

    def _plain_test(self, name: str) -> bool:
        nodes = [node for node in self._module.named(self._module.tree).get(name, ()) if isinstance(node, Function | ast.ClassDef)]
        if nodes:
            self._take(_TEST, self._module, nodes[-1])
            return True
        bound = self._module.bindings.get(name)
        if bound:
            for node in bound:
                self._take(_TEST, self._module, node)
            return True
        return self._imported_test(name)

    def _imported_test(self, name: str) -> bool:
        for owner, inner in self._follow(self._module, name):
            bound = owner.bindings.get(inner, ())
            for node in bound:
                self._take(_TEST, owner, node)
            if bound:
                return True
        return False

    def _method(self, module: Module, parts: list[str]) -> bool:
        scope: ast.Module | ast.ClassDef = module.tree
        outer: list[ast.ClassDef] = []
        for part in parts[:-1]:
            found = [node for node in module.named(scope).get(part, ()) if isinstance(node, ast.ClassDef)]
            if not found:
                return False
            outer.append(found[-1])
            scope = found[-1]
        return self._in_class(module, outer, parts[-1], depth=0)

    def _in_class(self, module: Module, outer: list[ast.ClassDef], name: str, depth: int) -> bool:
        own = module.named(outer[-1]).get(name, [])
        inherited = False
        if not own and depth < 8:  # noqa: PLR2004 - deeper hierarchies of tests are not read
            for base in outer[-1].bases:
                for owner, node in self._classes(module, base):
                    inherited = self._in_class(owner, [node], name, depth + 1) or inherited
        if not own and not inherited:
            return False
        self._take(_TEST if depth == 0 else _INHERITED, module, _shell(outer, {name}))
        return True

    def _classes(self, module: Module, base: ast.expr) -> Iterator[tuple[Module, ast.ClassDef]]:
        if isinstance(base, ast.Name):
            places = [(module, base.id), *self._follow(module, base.id)]
        elif isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
            places = [(owner, base.attr) for owner, inner in self._follow(module, base.value.id) if inner == ""]
        else:
            return
        for owner, name in places:
            yield from ((owner, node) for node in owner.named(owner.tree).get(name, ()) if isinstance(node, ast.ClassDef))

    # --- what acts on it --------------------------------------------------------------------------

    def _surroundings(self) -> None:
        """Hooks, effects and fixtures that act unasked, in the module and in every ``conftest.py`` above it."""
        for number, level in enumerate(self._levels):
            for node in level.acting(own=number == 0):
                self._take("", level, node)

    def _fixture(self, name: str, asker: Module, but: ast.stmt) -> None:
        start = self._levels.index(asker) if asker in self._levels else 0
        for level in self._levels[start:]:
            fixture = level.fixtures.get(name)
            if fixture is not None and fixture.node is not but:
                self._take("", level, fixture.node)
                return
            places = list(self._follow(level, name)) if name in level.imports else []
            for owner, inner in places:
                for node in owner.bindings.get(inner, ()):
                    self._take("", owner, node)
            if places:
                return
            for star in level.stars:
                for owner in self._library.resolve(star.module, level):
                    if name in owner.fixtures:
                        self._take("", owner, owner.fixtures[name].node)
                        return

    # --- following names --------------------------------------------------------------------------

    def _take(self, role: str, owner: Module, node: ast.stmt) -> None:
        """Add a piece. Its label says what it is, not how it was reached: that may depend on the order of the file."""
        label = role or (node.name if isinstance(node, Function | ast.ClassDef) else "statement")
        key = (owner.path, role, node.lineno, node.col_offset)
        if key in self._seen:
            return
        self._seen.add(key)
        bare = self._bare(role, owner, node)
        self._found.append((label, owner, node, bare))
        if bare is None:
            return
        for name in bare.fixtures:
            self._fixture(name, owner, node)
        for name, attribute in bare.used:
            self._name(owner, name, attribute)

    def _bare(self, role: str, owner: Module, node: ast.stmt) -> Plain | None:
        if role in OWN:
            return plain(node, owner.names, self._memo)
        key = (owner.path, node.lineno, node.col_offset)
        if key not in self._bares:
            self._bares[key] = plain(node, owner.names, self._memo)
        return self._bares[key]

    def _name(self, owner: Module, name: str, attribute: str) -> None:
        nodes = owner.bindings.get(name)
        if nodes:
            for node in nodes:
                self._take("", owner, node)
            return
        for place, inner in self._follow(owner, name):
            self._outer(place, inner or attribute)

    def _outer(self, place: Module, name: str) -> None:
        if name:
            self._name(place, name, "")
            return
        for statement in place.tree.body:
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                self._take("", place, statement)

    def _follow(self, owner: Module, name: str) -> list[tuple[Module, str]]:
        """Sealed modules that a name of ``owner`` comes from; names from outside are noted."""
        imported = owner.imports.get(name)
        if imported is None:
            return [(place, name) for star in owner.stars for place in self._library.resolve(star.module, owner) if name in place.bindings]
        places = self._library.resolve(imported.module, owner)
        if imported.name:
            joint = "." if imported.module.strip(".") else ""
            inner = self._library.resolve(f"{imported.module}{joint}{imported.name}", owner)
            if places and (imported.name in places[0].bindings or imported.name in places[0].imports or not inner):
                return [(places[0], imported.name)]
            if inner:
                return [(inner[0], "")]
        elif places:
            return [(places[0], "")]
        self._outside.add(f"import {imported.module}:{imported.name} as {name}")
        return []


def _shell(outer: list[ast.ClassDef], wanted: set[str]) -> ast.ClassDef:
    """The class around a test without its other tests (those that the kept members call stay)."""
    inner: ast.ClassDef | None = None
    for depth, node in enumerate(reversed(outer)):
        shell = copy.copy(node)
        keep = set(wanted) if depth == 0 else set()
        body: list[ast.stmt] = []
        for _ in range(3):
            body = [item for item in node.body if _kept(item, keep)]
            calls = {name for item in body for name in _tests_called(item)}
            if calls <= keep:
                break
            keep |= calls
        shell.body = ([*body, inner] if inner is not None else body) or [ast.Pass()]
        inner = shell
    assert inner is not None  # noqa: S101 - there is a class around every method
    return inner


def _tests_called(item: ast.stmt) -> frozenset[str]:
    """Attributes of a member that look like tests; kept beside the node, which is asked once for each test of its class."""
    known = item.__dict__.get(_CALLED)
    if known is None:
        attributes = (part.attr for part in ast.walk(item) if isinstance(part, ast.Attribute))
        known = item.__dict__[_CALLED] = frozenset(name for name in attributes if name.startswith("test"))
    return frozenset(known)


_CALLED = "_trivet_called"


def _kept(item: ast.stmt, keep: set[str]) -> bool:
    if isinstance(item, Function | ast.ClassDef):
        return item.name in keep or not item.name.startswith(("test", "Test"))
    return True
