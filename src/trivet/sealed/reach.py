"""What a test reaches in the sealed tree: module-level names, fixtures, hooks, helpers, and its class without the other tests."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

from trivet.sealed.marks import statements
from trivet.sealed.modules import HOOKS, Function, Library, Module
from trivet.sealed.plain_code import plain

_TEST, _INHERITED = "test", "inherited test"
OWN = frozenset({_TEST, _INHERITED})
"""Labels of pieces that are made for one test alone: a class without its other tests."""


@dataclass(frozen=True, slots=True)
class Bare:
    """A statement in plain form, the fixtures it asks for by name, and the names it loads, each with the attribute asked of it."""

    statement: ast.stmt
    fixtures: tuple[str, ...]
    used: tuple[tuple[str, str], ...]


Piece = tuple[str, Module, ast.stmt, Bare | None]
Bares = dict[tuple[str, int, int], Bare | None]
"""Pieces that several tests reach, by place: they are made plain once."""


class Reach:
    """What one test reaches: pieces of sealed code, and names of what lies outside of it."""

    def __init__(self, library: Library, module: Module, bares: Bares) -> None:
        self._library = library
        self._bares = bares
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
        nodes = [node for node in statements(self._module.tree.body) if isinstance(node, Function | ast.ClassDef) and node.name == name]
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
        body = module.tree.body
        outer: list[ast.ClassDef] = []
        for part in parts[:-1]:
            found = [node for node in statements(body) if isinstance(node, ast.ClassDef) and node.name == part]
            if not found:
                return False
            outer.append(found[-1])
            body = found[-1].body
        return self._in_class(module, outer, parts[-1], depth=0)

    def _in_class(self, module: Module, outer: list[ast.ClassDef], name: str, depth: int) -> bool:
        own = [node for node in statements(outer[-1].body) if _binds(node, name)]
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
            yield from ((owner, node) for node in statements(owner.tree.body) if isinstance(node, ast.ClassDef) and node.name == name)

    # --- what acts on it --------------------------------------------------------------------------

    def _surroundings(self) -> None:
        """Hooks, effects and fixtures that act unasked, in the module and in every ``conftest.py`` above it."""
        for number, level in enumerate(self._levels):
            for name, nodes in level.bindings.items():
                if name.startswith("pytest_") or (number == 0 and (name in HOOKS or name == "pytestmark")):
                    for node in nodes:
                        self._take("", level, node)
            for node in level.effects:
                if not (isinstance(node, ast.Expr) and level.names.skips(node.value)):
                    self._take("", level, node)
            for fixture in level.fixtures.values():
                if fixture.autouse:
                    self._take("", level, fixture.node)

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

    def _bare(self, role: str, owner: Module, node: ast.stmt) -> Bare | None:
        if role in OWN:
            return _bare_of(owner, node)
        key = (owner.path, node.lineno, node.col_offset)
        if key not in self._bares:
            self._bares[key] = _bare_of(owner, node)
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


def _bare_of(owner: Module, node: ast.stmt) -> Bare | None:
    statement = plain(node, owner.names)
    if statement is None:
        return None
    wanted: list[str] = []
    for part in ast.walk(statement):
        if isinstance(part, Function):
            wanted += _arguments(part)
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in ("usefixtures", "getfixturevalue"):
            wanted += [item.value for item in part.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return Bare(statement, tuple(dict.fromkeys(wanted)), tuple(dict.fromkeys(_used(statement))))


def _arguments(function: Function) -> list[str]:
    """Arguments that pytest fills with fixtures: those without a default."""
    given = function.args
    plain_ones = [*given.posonlyargs, *given.args]
    wanted = plain_ones[: len(plain_ones) - len(given.defaults)] if given.defaults else plain_ones
    return [argument.arg for argument in (*wanted, *given.kwonlyargs)]


def _binds(node: ast.stmt, name: str) -> bool:
    if isinstance(node, Function | ast.ClassDef):
        return node.name == name
    return isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def _shell(outer: list[ast.ClassDef], wanted: set[str]) -> ast.ClassDef:
    """The class around a test without its other tests (those that the kept members call stay)."""
    inner: ast.ClassDef | None = None
    for depth, node in enumerate(reversed(outer)):
        shell = copy.copy(node)
        keep = set(wanted) if depth == 0 else set()
        body: list[ast.stmt] = []
        for _ in range(3):
            body = [item for item in node.body if _kept(item, keep)]
            attributes = [part.attr for item in body for part in ast.walk(item) if isinstance(part, ast.Attribute)]
            calls = {name for name in attributes if name.startswith("test")}
            if calls <= keep:
                break
            keep |= calls
        shell.body = ([*body, inner] if inner is not None else body) or [ast.Pass()]
        inner = shell
    assert inner is not None  # noqa: S101 - there is a class around every method
    return inner


def _kept(item: ast.stmt, keep: set[str]) -> bool:
    if isinstance(item, Function | ast.ClassDef):
        return item.name in keep or not item.name.startswith(("test", "Test"))
    return True


def _used(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Names that a piece loads, each with the attribute asked of it ("" = the name itself)."""
    roots: set[int] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            roots.add(id(part.value))
            yield part.value.id, part.attr
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and id(part) not in roots:
            yield part.id, ""
