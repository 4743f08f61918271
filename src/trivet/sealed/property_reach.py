"""What a sealed test reaches: the definitions of the sealed tree that it uses, and whether production code is among them.

By names alone, without importing anything: a test reaches what it names, what its fixtures and helpers name, and so on through the
imports of the sealed tree. Where names do not tell (a string, an attribute), the answer leans to "reaches it".
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from trivet.model import Entry

# fmt: off
_PYTEST_FIXTURES = frozenset({
    "cache", "capfd", "capfdbinary", "caplog", "capsys", "capsysbinary",
    "capteesys", "doctest_namespace", "monkeypatch", "pytestconfig", "record_property", "record_testsuite_property",
    "record_xml_attribute", "recwarn", "request", "subtests", "testdir", "pytester",
    "tmp_path", "tmp_path_factory", "tmpdir", "tmpdir_factory",
})
# fmt: on

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = tuple[str, str]
"""File and top-level name."""


class _Tree(Protocol):
    def entries(self, under: tuple[bytes, ...] = ()) -> tuple[Entry, ...]: ...
    def read(self, path: bytes) -> bytes | None: ...


@dataclass(slots=True)
class Module:
    """One parsed file: its top-level definitions by name, and what its names are imported from."""

    file: str
    tree: ast.Module
    defined: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)
    fixtures: dict[str, str] = field(default_factory=dict)
    """Fixtures by the name that tests use, with the name they are defined under."""


@dataclass(slots=True)
class Reach:
    """What one test reaches. ``calls`` are dotted names of calls outside the sealed tree, with the line in the file that makes them."""

    production: bool = False
    definitions: set[Definition] = field(default_factory=set)
    calls: dict[str, tuple[str, int]] = field(default_factory=dict)
    digest: str = ""


class Modules:
    """The Python files beside the sealed tests, parsed when they are asked for."""

    def __init__(self, tree: _Tree, files: Iterable[str], production: frozenset[str]) -> None:
        self._tree = tree
        self._files = frozenset(files)
        self.production = production
        self._parsed: dict[str, Module | None] = {}

    def module(self, file: str) -> Module | None:
        """The parsed file, or None where there is none that parses."""
        if file not in self._parsed:
            self._parsed[file] = self._parse(file)
        return self._parsed[file]

    def _parse(self, file: str) -> Module | None:
        data = self._tree.read(file.encode("utf-8", "surrogateescape")) if file in self._files else None
        if data is None:
            return None
        try:
            module = Module(file=file, tree=ast.parse(data))
        except (SyntaxError, ValueError, RecursionError):
            return None
        for statement in _flat(module.tree.body):
            for name in _bound(statement):
                module.defined.setdefault(name, []).append(statement)
                if is_fixture(statement):
                    module.fixtures[_fixture_name(statement) or name] = name
            module.imported.update(_imports(statement, file))
        return module

    def is_production(self, dotted: str) -> bool:
        """Whether an imported name belongs to production code."""
        return dotted.partition(".")[0] in self.production and self.file_of(dotted, "") is None

    def file_of(self, dotted: str, beside: str) -> str | None:
        """The sealed file that an import names, if any."""
        path = dotted.replace(".", "/")
        folders = [beside.rpartition("/")[0], ""]
        while folders[0] and folders[-1] != folders[0]:
            folders.insert(-1, folders[-2].rpartition("/")[0])
            if not folders[-2]:
                break
        for folder in folders:
            stem = f"{folder}/{path}" if folder else path
            for candidate in (f"{stem}.py", f"{stem}/__init__.py"):
                if candidate in self._files:
                    return candidate
        return None

    def fixture(self, name: str, file: str) -> Definition | None:
        """Where the fixture of this name is defined, as pytest would look it up from ``file``."""
        folder = file
        places = [file]
        while folder:
            folder = folder.rpartition("/")[0]
            places.append(f"{folder}/conftest.py" if folder else "conftest.py")
        for place in places:
            module = self.module(place)
            if module and name in module.fixtures:
                return place, module.fixtures[name]
        return None

    def reach(self, file: str, node: ast.AST, extra: Iterable[ast.AST] = ()) -> Reach:
        """Follow the names of a definition through the sealed tree."""
        found = Reach()
        texts = [ast.dump(node), *(ast.dump(part) for part in extra)]
        waiting: list[tuple[str, ast.AST]] = [(file, node), *((file, part) for part in extra)]
        while waiting:
            at, part = waiting.pop()
            module = self.module(at)
            if module is None:
                continue
            self._calls(module, part, found)
            for target in self._targets(module, part, found):
                if target in found.definitions:
                    continue
                found.definitions.add(target)
                other = self.module(target[0])
                for inner in other.defined.get(target[1], []) if other else []:
                    texts.append(f"{target}{ast.dump(inner)}")
                    waiting.append((target[0], inner))
        found.digest = hashlib.sha256("\0".join(sorted(texts)).encode("utf-8", "surrogatepass")).hexdigest()
        return found

    def _targets(self, module: Module, part: ast.AST, found: Reach) -> Iterator[Definition]:
        for inner in ast.walk(part):
            if isinstance(inner, ast.Name):
                yield from self._of_name(module, inner.id, found)
            elif isinstance(inner, ast.arg):
                fixture = self.fixture(inner.arg, module.file)
                if fixture is not None:
                    yield fixture
                elif inner.arg not in _PYTEST_FIXTURES and is_test_or_fixture(part):
                    # A fixture of a plugin, or an argument that nothing here explains.
                    found.production = found.production or inner.arg not in _given(part)
            elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                words = inner.value.replace("/", ".").replace("-", ".").split(".")
                found.production = found.production or any(word in self.production for word in words)
            elif isinstance(inner, (ast.Import, ast.ImportFrom)):
                for dotted, name in _imports(inner, module.file).values():
                    yield from self._of_import(module, dotted, name, found)

    def _of_name(self, module: Module, name: str, found: Reach) -> Iterator[Definition]:
        if name in module.defined:
            yield module.file, name
        if name in module.imported:
            yield from self._of_import(module, *module.imported[name], found)

    def _of_import(self, module: Module, dotted: str, name: str, found: Reach) -> Iterator[Definition]:
        inner = self.file_of(f"{dotted}.{name}" if name else dotted, module.file)
        outer = self.file_of(dotted, module.file)
        if inner is not None or outer is not None:
            other = self.module(inner or outer or "")
            if inner is None and outer is not None and name:
                yield outer, name
            elif other is not None:
                yield from ((other.file, defined) for defined in other.defined)
        elif self.is_production(dotted):
            found.production = True

    def _calls(self, module: Module, part: ast.AST, found: Reach) -> None:
        local: dict[str, tuple[str, str]] = {}
        for inner in ast.walk(part):
            if isinstance(inner, (ast.Import, ast.ImportFrom)):
                local |= _imports(inner, module.file)
        for inner in ast.walk(part):
            if isinstance(inner, ast.Call):
                dotted = dotted_name(module, inner.func, local)
                if dotted:
                    found.calls.setdefault(dotted, (module.file, inner.lineno))


def dotted_name(module: Module, node: ast.expr, local: dict[str, tuple[str, str]] | None = None) -> str:
    """The full dotted name of an expression whose root is imported, "" otherwise: ``dt.now`` gives ``datetime.datetime.now``."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    imported = {**module.imported, **(local or {})}
    if not isinstance(node, ast.Name) or node.id not in imported:
        return ""
    dotted, name = imported[node.id]
    return ".".join([dotted, *([name] if name else []), *reversed(parts)])


def is_fixture(node: ast.AST) -> bool:
    """Whether a definition is decorated as a fixture."""
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and any("fixture" in ast.dump(mark) for mark in node.decorator_list)


def is_test_or_fixture(node: ast.AST) -> bool:
    """Whether pytest fills the arguments of a definition."""
    return is_fixture(node) or (isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test"))


def _fixture_name(node: ast.AST) -> str:
    for mark in getattr(node, "decorator_list", []):
        if isinstance(mark, ast.Call):
            for keyword in mark.keywords:
                if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                    return str(keyword.value.value)
    return ""


def _given(node: ast.AST) -> frozenset[str]:
    """Words of the decorators: the names that ``parametrize``, ``given`` or ``patch`` fill; ``self`` and ``cls`` too."""
    words = {"self", "cls"}
    for mark in getattr(node, "decorator_list", []):
        for part in ast.walk(mark):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                words |= {word.strip() for word in part.value.split(",")}
            elif isinstance(part, ast.keyword) and part.arg:
                words.add(part.arg)
            elif isinstance(part, (ast.Name, ast.Attribute)) and "given" in ast.dump(part):
                words |= {arg.arg for arg in ast.walk(node) if isinstance(arg, ast.arg)}
    return frozenset(words)


def production_names(source_files: Iterable[str], import_paths: Iterable[str]) -> frozenset[str]:
    """The top-level names under which production code can be imported, given the import path (folders relative to the root)."""
    names = set()
    prefixes = [path.strip("/") for path in import_paths]
    for file in source_files:
        for prefix in prefixes:
            inner = file if prefix in ("", ".") else file.removeprefix(prefix + "/") if file.startswith(prefix + "/") else ""
            top = inner.partition("/")[0].removesuffix(".py")
            if top.isidentifier() and inner.endswith(".py"):
                names.add(top)
    return frozenset(names)


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        for part in ("body", "orelse", "finalbody"):
            if isinstance(statement, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
                yield from _flat(getattr(statement, part, []))
        if isinstance(statement, ast.Try):
            for handler in statement.handlers:
                yield from _flat(handler.body)


def _bound(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
            yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _imports(statement: ast.stmt, file: str) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            found[alias.asname or alias.name.partition(".")[0]] = (alias.name if alias.asname else alias.name.partition(".")[0], "")
    elif isinstance(statement, ast.ImportFrom):
        package = file.split("/")[: -statement.level] if statement.level else []
        dotted = ".".join([*package, *([statement.module] if statement.module else [])])
        for alias in statement.names:
            found[alias.asname or alias.name] = (dotted, alias.name)
    return found
