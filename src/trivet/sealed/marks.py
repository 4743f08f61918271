"""What an expression in a sealed file means to pytest and unittest, however it is spelled.

Names are resolved through imports (``from pytest import mark as m``), plain assignments (``slow = pytest.mark.skip``) and ``getattr`` with
a constant name. Nothing is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

UNCONDITIONAL_MARKS: Final = frozenset({
    "pytest.mark.skip", "unittest.skip", "unittest.case.skip", "unittest.expectedFailure", "unittest.case.expectedFailure",
})  # fmt: skip
CONDITIONAL_MARKS: Final = frozenset({
    "pytest.mark.skipif", "unittest.skipIf", "unittest.skipUnless", "unittest.case.skipIf", "unittest.case.skipUnless",
})  # fmt: skip
XFAIL_MARK: Final = "pytest.mark.xfail"
CALLS: Final = frozenset({"pytest.skip", "pytest.xfail", "_pytest.outcomes.skip", "_pytest.outcomes.xfail"})
IMPORT_CALLS: Final = frozenset({"pytest.importorskip", "_pytest.outcomes.importorskip"})
RAISES: Final = frozenset({
    "unittest.SkipTest", "unittest.case.SkipTest", "pytest.skip.Exception", "pytest.xfail.Exception", "_pytest.outcomes.Skipped",
    "_pytest.outcomes.XFailed",
})  # fmt: skip
_DEEPEST: Final = 12
_BLOCKS: Final = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A mark that skips or expects failure. ``form`` is what people read; ``condition`` None: it always holds."""

    form: str
    condition: ast.expr | None


@dataclass(slots=True)
class Names:
    """The aliases of one module: name → dotted origin (imports), name → expression (plain assignments)."""

    origins: dict[str, str] = field(default_factory=dict)
    values: dict[str, ast.expr] = field(default_factory=dict)
    optional: set[str] = field(default_factory=set)
    """Names bound where an import may fail: ``try: import x`` with a handler for ImportError."""
    outer: Callable[[str], str] | None = None
    """Follows an imported name into a sealed helper: its dotted origin there, "" where it has none."""

    @classmethod
    def of(cls, module: ast.Module) -> Names:
        """Collect the aliases of a module, in whichever block they stand."""
        names = cls()
        for node in _all_statements(module):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    names.origins[name] = alias.name if alias.asname else name
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for alias in node.names:
                    names.origins[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        for statement in statements(module.body):
            if isinstance(statement, ast.Try) and _guards_import(statement):
                names.optional.update(_bound(statement))
            for name, value in _plain_assignments(statement):
                names.values[name] = value
        return names

    def dotted(self, node: ast.expr, depth: int = 0) -> str:
        """The dotted origin of a name, attribute or ``getattr``; "" where it is none."""
        if depth > _DEEPEST:
            return ""
        if isinstance(node, ast.Name):
            if node.id in self.origins:
                return (self.outer(node.id) if self.outer is not None else "") or self.origins[node.id]
            value = self.values.get(node.id)
            known = isinstance(value, ast.Name | ast.Attribute) or (isinstance(value, ast.Call) and _getattr_name(value) is not None)
            return (self.dotted(value, depth + 1) if value is not None and known else "") or node.id
        name = node.attr if isinstance(node, ast.Attribute) else _getattr_name(node) if isinstance(node, ast.Call) else None
        if name is None:
            return ""
        inner = node.value if isinstance(node, ast.Attribute) else node.args[0] if isinstance(node, ast.Call) else node
        owner = self.dotted(inner, depth + 1)
        return f"{owner}.{name}" if owner else ""

    def mark(self, node: ast.expr, depth: int = 0) -> Mark | None:
        """The skip or xfail mark that an expression is: a decorator, an element of ``pytestmark`` or of ``marks=``."""
        if depth > _DEEPEST:
            return None
        if isinstance(node, ast.Call) and _getattr_name(node) is None:
            dotted = self.dotted(node.func)
            if dotted in UNCONDITIONAL_MARKS or dotted in CONDITIONAL_MARKS or dotted == XFAIL_MARK:
                return Mark(form=dotted, condition=None if dotted in UNCONDITIONAL_MARKS else _condition(node))
            return self.mark(node.func, depth + 1)  # pytest.mark.skip(reason="x")(function), a mark kept in a name and called
        dotted = self.dotted(node)
        if dotted in UNCONDITIONAL_MARKS or dotted == XFAIL_MARK:
            return Mark(form=dotted, condition=None)
        if isinstance(node, ast.Name) and node.id in self.values:
            return self.mark(self.values[node.id], depth + 1)
        return None

    def marks_in(self, node: ast.expr, depth: int = 0) -> Iterator[tuple[ast.expr, Mark]]:
        """Every skip mark in a list, a name of a list, ``pytest.param(..., marks=…)``, or a call that holds such."""
        if depth > _DEEPEST:
            return
        mark = self.mark(node)
        if mark is not None:
            yield node, mark
            return
        if isinstance(node, ast.Name) and node.id in self.values:
            yield from self.marks_in(self.values[node.id], depth + 1)
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from self.marks_in(child, depth + 1)
            elif isinstance(child, ast.keyword):
                yield from self.marks_in(child.value, depth + 1)
            elif isinstance(child, ast.comprehension):
                yield from self.marks_in(child.iter, depth + 1)

    def skips(self, node: ast.AST) -> tuple[str, bool] | None:
        """Whether a statement or expression skips by itself: its form, and whether it depends on a missing package."""
        if isinstance(node, ast.Call):
            dotted = self.dotted(node.func)
            if dotted in CALLS:
                return dotted, False
            if dotted in IMPORT_CALLS:
                return dotted, True
            if isinstance(node.func, ast.Attribute) and node.func.attr == "skipTest":
                return "self.skipTest", False
        if isinstance(node, ast.Raise) and node.exc is not None:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            dotted = self.dotted(raised)
            if dotted in RAISES:
                return f"raise {dotted}", False
        return None


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a scope, those in the blocks of ``if``, ``try``, ``with``, ``for`` and ``match`` included."""
    for statement in body:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from statements(inner_blocks(statement))


def _all_statements(module: ast.Module) -> Iterator[ast.AST]:
    """All statements in whichever block, level by level, without a look at expressions."""
    level: list[ast.AST] = [module]
    while level:
        yield from level
        level = [inner for node in level for name in _BLOCKS for inner in node.__dict__.get(name, ()) if isinstance(inner, ast.AST)]


def inner_blocks(statement: ast.stmt) -> list[ast.stmt]:
    """The statements directly in the blocks of a compound statement that opens no scope."""
    inner: list[ast.stmt] = []
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, [])
        inner += [item for item in block if isinstance(item, ast.stmt)] if isinstance(block, list) else []
    for handler in getattr(statement, "handlers", []):
        inner += handler.body
    for case in getattr(statement, "cases", []):
        inner += case.body
    return inner


def _guards_import(statement: ast.Try) -> bool:
    caught = [part.id for handler in statement.handlers if handler.type for part in ast.walk(handler.type) if isinstance(part, ast.Name)]
    return "ImportError" in caught or "ModuleNotFoundError" in caught


def _bound(statement: ast.Try) -> Iterator[str]:
    for inner in statements(inner_blocks(statement)):
        yield from (name for name, _ in _plain_assignments(inner))
        if isinstance(inner, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in inner.names)


def _plain_assignments(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                yield target.id, statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None and isinstance(statement.target, ast.Name):
        yield statement.target.id, statement.value


def _getattr_name(call: ast.Call) -> str | None:
    if isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) > 1:
        name = call.args[1]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            return name.value
    return None


def _condition(call: ast.Call) -> ast.expr | None:
    """The condition of ``skipif``, ``skipIf``, ``xfail``; None where it is missing or constantly true."""
    found = call.args[0] if call.args else next((word.value for word in call.keywords if word.arg == "condition"), None)
    if isinstance(found, ast.Constant) and bool(found.value) and not isinstance(found.value, str):
        return None
    return found
