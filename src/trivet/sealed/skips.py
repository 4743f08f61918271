"""Every skip and xfail that is written in the sealed tree, however it is spelled. Nothing is executed.

A site is conditional when it may not fire here; whether it does is seen at run time. Words in strings and parameter values are no sites.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from trivet.git import Tree
from trivet.model import Policy, SkipSite
from trivet.sealed.marks import statements
from trivet.sealed.modules import Function, Library, Module, deep_trees
from trivet.sealed.skip_bodies import Bodies, Skip, environmental
from trivet.zones import match

_IGNORES = frozenset({"collect_ignore", "collect_ignore_glob"})
_REORDERINGS = frozenset({"sorted", "reversed", "list", "tuple", "shuffle", "sample"})


def scan_skips(tree: Tree, tests: tuple[str, ...], *, policy: Policy) -> tuple[SkipSite, ...]:
    """Find all sites.

    Args:
        tree: base or head.
        tests: the sealed test files of that tree.
        policy: base's policy (which helpers are sealed, and the import path).

    Returns:
        Sites sorted by file and line: those of test files, and those of the ``conftest.py`` files and plugins that act on them.
    """
    library = Library(tree, lambda path: match(policy.zones.oracle, path), policy.score.paths)
    scanner = Scanner(library)
    found: set[SkipSite] = set()
    levels: dict[str, Module] = {}
    with deep_trees():
        for file in tests:
            module = library.get(file)
            if module is not None:
                found.update(_all_of(module, scanner.test_file))
                levels.update((level.path, level) for level in library.conftests(file))
        for level in levels.values():
            found.update(_all_of(level, scanner.conftest))
    return tuple(sorted(found, key=lambda site: (site.file, site.line, site.function, site.form)))


def _all_of(module: Module, scan: Callable[[Module], Iterator[SkipSite]]) -> list[SkipSite]:
    try:
        return list(scan(module))
    except RecursionError:  # what can't be read is not taken for harmless
        return [SkipSite(file=module.path, function="", line=1, form="code that is nested too deeply to be read", conditional=False)]


class Scanner:
    """Finds the sites of one library's files."""

    def __init__(self, library: Library) -> None:
        self._bodies = Bodies(library)

    # --- test files -------------------------------------------------------------------------------

    def test_file(self, module: Module) -> Iterator[SkipSite]:
        """The sites of a test file."""
        cases = list(_cases(module.tree.body, ""))
        yield from self._module_level(module, cases)
        for prefix, node, outer in cases:
            yield from self._case(module, prefix + node.name, node, outer)
        for statement in statements(module.tree.body):
            yield from self._made(module, statement, "")
            if isinstance(statement, ast.ClassDef):
                yield from self._class(module, statement, f"{statement.name}.")
        for fixture in module.fixtures.values():
            yield from self._plain(module, fixture.node.name, self._bodies.in_function(module, fixture.node))

    def _module_level(self, module: Module, cases: list[tuple[str, Function, list[ast.ClassDef]]]) -> Iterator[SkipSite]:
        for statement in module.tree.body:
            for target in _stores(statement, "pytestmark"):
                for skip in self._bodies.in_expression(module, target, ()):
                    yield from (_site(module, prefix + node.name, skip) for prefix, node, _ in cases)
                    if not cases:
                        yield _site(module, "", skip)
            if isinstance(statement, Function | ast.ClassDef) or _stores(statement, "pytestmark") or _only_names(statement):
                continue
            for skip in self._bodies.in_block(module, [statement], (), 0):
                yield _site(module, _argument(statement), skip)
        yield from _switched_off(module, module.tree.body, "")

    def _case(self, module: Module, name: str, node: Function, outer: list[ast.ClassDef]) -> Iterator[SkipSite]:
        for owner in (*outer, node):
            for decorator in owner.decorator_list:
                yield from self._plain(module, name, self._bodies.as_decorator(module, decorator))
        for owner in outer:
            for statement in owner.body:
                for value in _stores(statement, "pytestmark"):
                    yield from self._plain(module, name, self._bodies.in_expression(module, value, ()))
        undecorated = ast.copy_location(type(node)(**{**dict(ast.iter_fields(node)), "decorator_list": []}), node)
        yield from self._plain(module, name, self._bodies.in_function(module, undecorated))

    def _class(self, module: Module, node: ast.ClassDef, prefix: str) -> Iterator[SkipSite]:
        """What acts on all tests of a class: its set-up, fixtures, tests that are made and not written."""
        for statement in statements(node.body):
            if isinstance(statement, ast.ClassDef):
                yield from self._class(module, statement, f"{prefix}{statement.name}.")
            elif isinstance(statement, Function) and not statement.name.startswith("test"):
                acts = statement.name.lower().startswith(("setup", "teardown", "asyncsetup")) or statement in [
                    fixture.node for fixture in module.fixtures.values()
                ]
                if acts or any(_terminal(item) == "fixture" for item in statement.decorator_list):
                    yield from self._plain(module, prefix.rstrip("."), self._bodies.in_function(module, statement))
            else:
                yield from self._made(module, statement, prefix)
        off = list(_switched_off(module, node.body, prefix.rstrip(".")))
        if (
            off
            and not _derived(module, node.name)
            and any(isinstance(item, Function) and item.name.startswith("test") for item in node.body)
        ):
            yield from off

    def _made(self, module: Module, statement: ast.stmt, prefix: str) -> Iterator[SkipSite]:
        """``test_x = build(...)``, ``test_x = pytest.mark.skip(other)``, ``test_x.pytestmark = …``."""
        if not isinstance(statement, ast.Assign):
            return
        for target in statement.targets:
            if isinstance(target, ast.Name) and target.id.startswith(("test", "Test")):
                yield from self._plain(module, prefix + target.id, self._bodies.in_expression(module, statement.value, ()))
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                if target.attr == "pytestmark":
                    yield from self._plain(module, prefix + target.value.id, self._bodies.in_expression(module, statement.value, ()))
                elif target.attr == "__test__" and isinstance(statement.value, ast.Constant) and not statement.value.value:
                    yield SkipSite(
                        file=module.path,
                        function=prefix + target.value.id,
                        line=statement.lineno,
                        form="__test__ = False",
                        conditional=False,
                    )

    # --- conftest files ---------------------------------------------------------------------------

    def conftest(self, module: Module) -> Iterator[SkipSite]:
        """The sites of a ``conftest.py`` or plugin: files left out, tests deselected or skipped by hooks and fixtures."""
        yield from self._ignores(module, module.tree.body, ())
        for statement in statements(module.tree.body):
            if not isinstance(statement, Function):
                continue
            if statement.name == "pytest_collection_modifyitems":
                yield from _deselections(module, statement)
            elif statement.name in (
                "pytest_ignore_collect",
                "pytest_pycollect_makeitem",
                "pytest_pycollect_makemodule",
                "pytest_itemcollected",
            ):
                yield from _refusals(module, statement)
            if statement.name.startswith("pytest_") or statement.name in [fixture.node.name for fixture in module.fixtures.values()]:
                yield from self._plain(module, statement.name, self._bodies.in_function(module, statement))

    def _ignores(self, module: Module, body: list[ast.stmt], around: tuple[ast.AST, ...]) -> Iterator[SkipSite]:
        for statement in body:
            names = _IGNORES & {part.id for part in ast.walk(statement) if isinstance(part, ast.Name)}
            if not names or isinstance(statement, Function | ast.ClassDef):
                continue
            if isinstance(statement, ast.If):
                yield from self._ignores(module, statement.body, (*around, statement.test))
                yield from self._ignores(module, statement.orelse, (*around, statement.test))
            elif isinstance(statement, ast.Try):
                for handler in statement.handlers:
                    yield from self._ignores(module, handler.body, (*around, handler))
                yield from self._ignores(module, [*statement.body, *statement.orelse, *statement.finalbody], around)
            elif not _empty_list(statement):
                conditional = environmental((*around, *_inline_conditions(statement)), module.names)
                yield SkipSite(file=module.path, function=min(names), line=statement.lineno, form=min(names), conditional=conditional)

    @staticmethod
    def _plain(module: Module, name: str, skips: Iterator[Skip]) -> Iterator[SkipSite]:
        for skip in skips:
            yield _site(module, name, skip)


def _site(module: Module, function: str, skip: Skip) -> SkipSite:
    return SkipSite(
        file=module.path,
        function=function,
        line=skip.line,
        form=skip.form,
        conditional=skip.conditional,
        environment=environmental(skip.conditions, module.names),
    )


def _cases(body: list[ast.stmt], prefix: str, outer: tuple[ast.ClassDef, ...] = ()) -> Iterator[tuple[str, Function, list[ast.ClassDef]]]:
    """The test functions that are written: prefix (``Class.``), node, classes around it."""
    for statement in statements(body):
        if isinstance(statement, Function) and statement.name.startswith("test"):
            yield prefix, statement, list(outer)
        elif isinstance(statement, ast.ClassDef):
            yield from _cases(statement.body, f"{prefix}{statement.name}.", (*outer, statement))


def _stores(statement: ast.stmt, name: str) -> list[ast.expr]:
    """The values that a statement puts into ``name``, by assignment, ``+=`` or ``append``."""
    values: list[ast.expr] = []
    for inner in statements([statement]):
        if isinstance(inner, ast.Assign) and any(isinstance(target, ast.Name) and target.id == name for target in inner.targets):
            values.append(inner.value)
        elif isinstance(inner, ast.AugAssign | ast.AnnAssign) and isinstance(inner.target, ast.Name) and inner.target.id == name:
            values += [inner.value] if inner.value is not None else []
        elif isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Call) and isinstance(inner.value.func, ast.Attribute):
            owner = inner.value.func.value
            values += inner.value.args if isinstance(owner, ast.Name) and owner.id == name else []
    return values


def _only_names(statement: ast.stmt) -> bool:
    """Whether a statement only gives a name to a value: a mark kept for later skips nothing by itself."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return False
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    if not isinstance(target, ast.Name | ast.Attribute):
        return False
    calls = [part for part in ast.walk(statement) if isinstance(part, ast.Call)]
    return not any(_terminal(call) in ("skip", "importorskip", "xfail") and not _is_mark(call) for call in calls)


def _is_mark(call: ast.Call) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr == "mark" for part in ast.walk(call.func)) or any(
        isinstance(part, ast.Name) and part.id == "mark" for part in ast.walk(call.func)
    )


def _terminal(node: ast.expr) -> str:
    called = node.func if isinstance(node, ast.Call) else node
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def _argument(statement: ast.stmt) -> str:
    """The test that a statement like ``pytest.mark.skip(test_x)`` is about, "" for the whole module."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and statement.value.args:
        first = statement.value.args[0]
        if isinstance(first, ast.Name) and first.id.startswith(("test", "Test")):
            return first.id
    return ""


def _switched_off(module: Module, body: list[ast.stmt], function: str) -> Iterator[SkipSite]:
    for statement in body:
        for value in _stores(statement, "__test__"):
            if isinstance(value, ast.Constant) and not value.value:
                yield SkipSite(file=module.path, function=function, line=statement.lineno, form="__test__ = False", conditional=False)


def _derived(module: Module, name: str) -> bool:
    """Whether another class of the module takes its tests from this one: then it is a mixin, and they run there."""
    classes = (node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef))
    return any(isinstance(base, ast.Name) and base.id == name for node in classes for base in node.bases)


def _deselections(module: Module, hook: Function) -> Iterator[SkipSite]:
    """Places in which ``pytest_collection_modifyitems`` takes tests away; a change of order does not."""
    for node in ast.walk(hook):
        form = ""
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Subscript) and _about_items(target.value) for target in node.targets
        ):
            form = "" if _terminal(node.value) in _REORDERINGS and not _filters(node.value) else "items[:] = …"
        elif isinstance(node, ast.Delete) and any(
            isinstance(target, ast.Subscript) and _about_items(target.value) for target in node.targets
        ):
            form = "del items[…]"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            taken = node.func.attr in ("remove", "pop", "clear") and _about_items(node.func.value)
            form = f"items.{node.func.attr}" if taken else "pytest_deselected" if node.func.attr == "pytest_deselected" else ""
        if form and isinstance(node, ast.stmt | ast.expr):
            yield SkipSite(
                file=module.path, function=hook.name, line=node.lineno, form=f"{hook.name}: {form}", conditional=_asked_for(hook)
            )


def _about_items(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "items"


def _filters(node: ast.expr) -> bool:
    return any(
        (isinstance(part, ast.comprehension) and part.ifs) or (isinstance(part, ast.Name) and part.id == "filter")
        for part in ast.walk(node)
    )


def _asked_for(hook: Function) -> bool:
    """Whether the hook acts only on a command-line option: the scored run gives none, so what it does is seen at run time."""
    return any(isinstance(part, ast.Attribute) and part.attr in ("getoption", "getvalue", "option") for part in ast.walk(hook))


def _refusals(module: Module, hook: Function) -> Iterator[SkipSite]:
    for node in ast.walk(hook):
        if isinstance(node, ast.Return) and node.value is not None and not (isinstance(node.value, ast.Constant) and not node.value.value):
            makes = hook.name.startswith("pytest_pycollect")
            constant = isinstance(node.value, ast.Constant | ast.List | ast.Tuple)
            if makes and not (constant and not getattr(node.value, "elts", None)):
                continue
            conditions: tuple[ast.AST, ...] = () if isinstance(node.value, ast.Constant) else (node.value,)
            conditional = environmental(conditions, module.names) or _asked_for(hook)
            yield SkipSite(file=module.path, function=hook.name, line=node.lineno, form=hook.name, conditional=conditional)


def _empty_list(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    return (isinstance(value, ast.List | ast.Tuple) and not value.elts) or (
        isinstance(value, ast.Call) and not value.args and _terminal(value) == "list"
    )


def _inline_conditions(statement: ast.stmt) -> tuple[ast.AST, ...]:
    """Conditions written into the value: ``[...] if sys.platform == "win32" else []``."""
    return tuple(part.test for part in ast.walk(statement) if isinstance(part, ast.IfExp))
