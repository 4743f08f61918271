"""Sealed modules as syntax trees: what each binds, which fixtures it has, and how they import each other."""

from __future__ import annotations

import ast
import gc
import posixpath
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from trivet.git import Tree
from trivet.model import text_of
from trivet.sealed.marks import Names, inner_blocks, statements

Function = ast.FunctionDef | ast.AsyncFunctionDef
HOOKS: Final = frozenset({
    "setup_module", "teardown_module", "setup_function", "teardown_function", "setup", "teardown", "setUpModule", "tearDownModule",
    "load_tests",
})  # fmt: skip
_DEEPEST_CALLS: Final = 9_000
_FIXTURES: Final = frozenset({"fixture", "yield_fixture"})


@dataclass(frozen=True, slots=True)
class Imported:
    """A name that an import binds: dotted module ("." first for relative ones) and the name in it ("" = the module itself, "*" = all)."""

    module: str
    name: str


@dataclass(slots=True)
class Fixture:
    """A fixture of one module: the name tests ask for, its function, and whether it acts unasked."""

    name: str
    node: Function
    autouse: bool


@dataclass(slots=True)
class Module:
    """One parsed sealed file."""

    path: str
    tree: ast.Module
    names: Names
    bindings: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imports: dict[str, Imported] = field(default_factory=dict)
    stars: list[Imported] = field(default_factory=list)
    effects: list[ast.stmt] = field(default_factory=list)
    fixtures: dict[str, Fixture] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    future_annotations: bool = False

    _named: dict[int, dict[str, list[ast.stmt]]] = field(default_factory=dict)

    def named(self, owner: ast.Module | ast.ClassDef) -> dict[str, list[ast.stmt]]:
        """The statements of a scope by the names that they bind as functions, classes or plain assignments, in their order."""
        known = self._named.get(id(owner))
        if known is None:
            known = self._named[id(owner)] = {}
            for node in statements(owner.body):
                if isinstance(node, Function | ast.ClassDef):
                    known.setdefault(node.name, []).append(node)
                elif isinstance(node, ast.Assign):
                    for name in {target.id for target in node.targets if isinstance(target, ast.Name)}:
                        known.setdefault(name, []).append(node)
        return known

    _acting: dict[bool, tuple[ast.stmt, ...]] = field(default_factory=dict)

    def acting(self, *, own: bool) -> tuple[ast.stmt, ...]:
        """What of the module acts unasked: hooks, effects, fixtures; on tests of the file itself (``own``) also its setup and marks."""
        if own not in self._acting:
            found: list[ast.stmt] = []
            for name, nodes in self.bindings.items():
                if name.startswith("pytest_") or (own and (name in HOOKS or name == "pytestmark")):
                    found += nodes
            found += [node for node in self.effects if not (isinstance(node, ast.Expr) and self.names.skips(node.value))]
            found += [fixture.node for fixture in self.fixtures.values() if fixture.autouse]
            self._acting[own] = tuple(found)
        return self._acting[own]

    @property
    def folder(self) -> str:
        """The folder of the file, "" for the root."""
        return posixpath.dirname(self.path)


@contextmanager
def deep_trees() -> Iterator[None]:
    """Let syntax trees be walked that nest deeper than Python code usually calls: a sum of a thousand terms is such a tree.

    The collector of cycles rests meanwhile: it would look through every tree again and again, and they all live on.
    """
    before, collects = sys.getrecursionlimit(), gc.isenabled()
    sys.setrecursionlimit(max(before, _DEEPEST_CALLS))
    gc.disable()
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
        if collects:
            gc.enable()


class Library:
    """The sealed modules of one tree, parsed once."""

    def __init__(self, tree: Tree, is_sealed: Callable[[bytes], bool], roots: tuple[str, ...] = ("src", ".")) -> None:
        self.tree = tree
        self._is_sealed = is_sealed
        self._roots = roots
        self._modules: dict[str, Module | None] = {}
        self._index: dict[str, list[str]] | None = None
        self._origins: dict[tuple[str, str], str] = {}
        self.asks: dict[str, set[str]] = {}
        """File to the paths that were looked at for its sake, whether there is something or not."""
        self._levels: dict[str, tuple[Module, ...]] = {}
        self._sealed: dict[str, bool] = {}
        self._files: tuple[str, ...] | None = None
        self._resolved: dict[tuple[str, str], tuple[tuple[Module, ...], frozenset[str]]] = {}

    def get(self, path: str) -> Module | None:
        """The module of a file; None where it does not exist or can't be parsed."""
        if path not in self._modules:
            data = self.tree.read(path.encode("utf-8", "surrogateescape"))
            module = self._modules[path] = None if data is None else parse_module(path, data)
            if module is not None:
                module.names.outer = partial(self._outer, module)
        return self._modules[path]

    def _outer(self, module: Module, name: str) -> str:
        key = (module.path, name)
        if key not in self._origins:
            self._origins[key] = self._origin(module, frozenset(), name)
        return self._origins[key]

    def _origin(self, module: Module, seen: frozenset[str], name: str) -> str:
        """What an imported name is, where the import leads into a sealed helper that imports or renames it itself."""
        imported = module.imports.get(name)
        if imported is None or not imported.name or module.path in seen:
            return ""
        for place in self.resolve(imported.module, module):
            further = place.imports.get(imported.name)
            if further is not None:
                deeper = self._origin(place, seen | {module.path}, imported.name)
                return deeper or f"{further.module}.{further.name}".rstrip(".")
            if imported.name in place.names.values:
                return place.names.dotted(ast.Name(id=imported.name, ctx=ast.Load()))
        return ""

    def conftests(self, file: str) -> tuple[Module, ...]:
        """The ``conftest.py`` files that act on a test file, innermost first, each with the plugins it names."""
        start = posixpath.dirname(file)
        self.asks.setdefault(file, set()).update(posixpath.join(folder, "conftest.py") for folder in _ancestors(start))
        if start not in self._levels:
            self._levels[start] = self._conftests(start)
        return self._levels[start]

    def _conftests(self, folder: str) -> tuple[Module, ...]:
        found: list[Module] = []
        while True:
            module = self.get(posixpath.join(folder, "conftest.py"))
            if module is not None:
                found.append(module)
                found += [plugin for name in module.plugins for plugin in self.resolve(name, module)]
            if not folder:
                return tuple(found)
            folder = posixpath.dirname(folder)

    def resolve(self, dotted: str, user: Module) -> tuple[Module, ...]:
        """The sealed module of a dotted name as ``user`` would import it: none or one."""
        key = (dotted, user.folder)
        if key not in self._resolved:
            looked: set[str] = set()
            self._resolved[key] = (self._resolve(dotted, user, looked), frozenset(looked))
        found, looked_at = self._resolved[key]
        self.asks.setdefault(user.path, set()).update(looked_at)
        return found

    def _resolve(self, dotted: str, user: Module, looked: set[str]) -> tuple[Module, ...]:
        stem = dotted.lstrip(".")
        dots = len(dotted) - len(stem)
        tail = stem.replace(".", "/")
        if dots:
            folder = user.folder
            for _ in range(dots - 1):
                folder = posixpath.dirname(folder)
            candidates = [folder]
        else:
            candidates = [*_ancestors(user.folder), *(posixpath.normpath(root).removeprefix(".") for root in self._roots)]
        for folder in candidates:
            stem_path = posixpath.join(folder, tail) if tail else folder
            for path in (f"{stem_path}.py", posixpath.join(stem_path, "__init__.py")):
                if self.is_sealed(path):
                    looked.add(path)
                    module = self.get(path)
                    if module is not None:
                        return (module,)
        if dots or not tail:
            return ()
        looked.add("*")
        named = self._by_name(tail)
        looked.update(module.path for module in named)
        return named

    def is_sealed(self, path: str) -> bool:
        """Whether a path belongs to the sealed tree."""
        known = self._sealed.get(path)
        if known is None:
            known = self._sealed[path] = self._is_sealed(path.encode("utf-8", "surrogateescape"))
        return known

    def sealed_files(self) -> tuple[str, ...]:
        """All sealed Python files."""
        if self._files is None:
            self._files = tuple(text_of(e.path) for e in self.tree.entries() if e.path.endswith(b".py") and self._is_sealed(e.path))
        return self._files

    def _by_name(self, tail: str) -> tuple[Module, ...]:
        """A helper that only the runner's configuration makes importable: the one sealed file whose path ends so."""
        if self._index is None:
            self._index = {}
            for path in self.sealed_files():
                self._index.setdefault(posixpath.basename(path), []).append(path)
        found = [path for path in self._index.get(posixpath.basename(tail) + ".py", ()) if ("/" + path).endswith(f"/{tail}.py")]
        module = self.get(found[0]) if len(found) == 1 else None
        return (module,) if module is not None else ()


def _ancestors(folder: str) -> Iterator[str]:
    while True:
        yield folder
        if not folder:
            return
        folder = posixpath.dirname(folder)


def parse_module(path: str, data: bytes) -> Module | None:
    """Parse one file; None where it is no Python that this interpreter reads."""
    try:
        tree = ast.parse(data, path)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    module = Module(path=path, tree=tree, names=Names.of(tree))
    for statement in tree.body:
        _bind(module, statement, statement)
        if _acts(statement):
            module.effects.append(statement)
    for statement in statements(tree.body):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            fixture = fixture_of(statement)
            if fixture is not None:
                module.fixtures[fixture.name] = fixture
    return module


def _bind(module: Module, statement: ast.stmt, whole: ast.stmt) -> None:
    """Note which names ``statement`` binds. ``whole`` is the top-level statement that holds it: a branch is kept with its condition."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        module.bindings.setdefault(statement.name, []).append(statement if whole is statement else whole)
        return
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            name = alias.asname or alias.name.partition(".")[0]
            module.imports[name] = Imported(alias.name if alias.asname else name, "")
        return
    if isinstance(statement, ast.ImportFrom):
        _bind_from(module, statement)
        return
    for name in _stored(statement):
        module.bindings.setdefault(name, []).append(whole)
        if name == "pytest_plugins":
            texts = [node.value for node in ast.walk(statement) if isinstance(node, ast.Constant)]
            module.plugins = tuple(text for text in texts if isinstance(text, str))
    for inner in inner_blocks(statement):
        _bind(module, inner, whole)


def _bind_from(module: Module, statement: ast.ImportFrom) -> None:
    origin = "." * statement.level + (statement.module or "")
    for alias in statement.names:
        if origin == "__future__" and alias.name == "annotations":
            module.future_annotations = True
        if alias.name == "*":
            module.stars.append(Imported(origin, "*"))
        else:
            module.imports[alias.asname or alias.name] = Imported(origin, alias.name)


def _stored(statement: ast.stmt) -> Iterator[str]:
    """Names that a simple statement, or the head of a compound one, binds."""
    heads: list[ast.AST] = []
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Delete | ast.Expr):
        heads = [statement]
    elif isinstance(statement, ast.For | ast.AsyncFor):
        heads = [statement.target]
    elif isinstance(statement, ast.With | ast.AsyncWith):
        heads = [item.optional_vars for item in statement.items if item.optional_vars is not None]
    for head in heads:
        for node in ast.walk(head):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _acts(statement: ast.stmt) -> bool:
    """Whether a top-level statement does something besides binding names: a call, a store into something, a loop over such."""
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Assign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return any(not isinstance(target, ast.Name | ast.Tuple | ast.List) for target in targets)
    if isinstance(statement, ast.Assert | ast.Raise | ast.Delete):
        return True
    return any(_acts(inner) for inner in inner_blocks(statement)) if not isinstance(statement, Function | ast.ClassDef) else False


def fixture_of(node: Function) -> Fixture | None:
    """The fixture that a function is, if it is one."""
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        terminal = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        if terminal in _FIXTURES:
            words = {word.arg: word.value for word in decorator.keywords} if isinstance(decorator, ast.Call) else {}
            given, auto = words.get("name"), words.get("autouse")
            name = given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else node.name
            return Fixture(name, node, auto is not None and not (isinstance(auto, ast.Constant) and not auto.value))
    return None
