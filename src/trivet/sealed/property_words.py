"""The assertions of one test, and which of them depend on what production code computes.

Taint by names: what a call of production code gives back or was handed is telling, and so is what is made from it. The analysis errs on
the side of the test: only an assertion whose whole ancestry is constants, sealed fixtures and parameters is idle.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from trivet.sealed.property_reach import Function, Module, Modules, dotted_name

_RAISES = ("pytest.raises", "pytest.warns", "pytest.deprecated_call")


@dataclass(frozen=True, slots=True)
class Assertions:
    """All assertions of a test, and those that depend on production code."""

    all: tuple[ast.stmt, ...]
    telling: tuple[ast.stmt, ...]
    reads: bool = False
    """One of them reads a value of production code by name: a constant, or what a module computed when it was imported."""


def assertions_of(modules: Modules, module: Module, node: Function, owner: ast.ClassDef | None) -> Assertions:
    """Find the assertions of a test function and follow what they are about."""
    found = tuple(part for part in _statements(node.body) if _asserts(modules, module, part, depth=0) or _inherited(module, owner, part))
    tainted = _Taint(modules, module, node, owner)
    # A bare `raise` stands under a condition, and the condition may be about anything that the test computed.
    about_all = tainted.touches(node)
    telling = tuple(part for part in found if tainted.touches(part) or (isinstance(part, ast.Raise) and about_all))
    reads = any(tainted.reads(part.test) for part in telling if isinstance(part, ast.Assert))
    return Assertions(all=found, telling=telling, reads=reads)


def _inherited(module: Module, owner: ast.ClassDef | None, part: ast.stmt) -> bool:
    """A call of a method that the test's class has: its own one that asserts, or one that only its bases know."""
    if owner is None or not isinstance(part, (ast.Expr, ast.Assign, ast.Return)):
        return False
    own = {inner.name: inner for inner in owner.body if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef))}
    based = [base for base in owner.bases if "TestCase" not in getattr(base, "attr", "") and dotted_or_name(module, base) != "object"]
    for call in ast.walk(part):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
            if call.func.value.id not in ("self", "cls"):
                continue
            method = own.get(call.func.attr)
            if method is None:
                return bool(based)
            if any(isinstance(inner, (ast.Assert, ast.Raise)) or "assert" in ast.dump(inner) for inner in ast.walk(method)):
                return True
    return False


def dotted_or_name(module: Module, node: ast.expr) -> str:
    """The dotted name of an imported expression, else the plain name."""
    return dotted_name(module, node) or (node.id if isinstance(node, ast.Name) else "")


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements of a body, inner functions included."""
    for statement in body:
        yield statement
        for part in ast.iter_child_nodes(statement):
            if isinstance(part, ast.stmt):
                yield from _statements([part])
            elif isinstance(part, (ast.ExceptHandler, ast.match_case)):
                yield from _statements(part.body)


def _asserts(modules: Modules, module: Module, part: ast.stmt, *, depth: int) -> bool:
    if isinstance(part, (ast.Assert, ast.Raise)):
        return True
    if isinstance(part, (ast.With, ast.AsyncWith)):
        if any(dotted_name(module, item.context_expr.func) in _RAISES for item in part.items if isinstance(item.context_expr, ast.Call)):
            return True
        heads: list[ast.AST] = [item.context_expr for item in part.items]
    else:
        heads = [part] if isinstance(part, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return, ast.AugAssign)) else list(_heads(part))
    return any(_call_asserts(modules, module, call, depth) for head in heads for call in ast.walk(head) if isinstance(call, ast.Call))


def _call_asserts(modules: Modules, module: Module, call: ast.Call, depth: int) -> bool:
    func = call.func
    if isinstance(func, ast.Attribute):
        if func.attr.startswith(("assert", "fail")) or func.attr == "check":
            return True
        return dotted_name(module, func) in (*_RAISES, "pytest.fail")
    if not isinstance(func, ast.Name):
        return False
    if func.id.startswith("assert") or dotted_name(module, func) in (*_RAISES, "pytest.fail"):
        return True
    return depth < 4 and any(_definition_asserts(modules, at, node, depth) for at, node in _definitions(modules, module, func.id))  # noqa: PLR2004


def _definition_asserts(modules: Modules, module: Module, node: ast.stmt, depth: int) -> bool:
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return any(_asserts(modules, module, part, depth=depth + 1) for part in _statements(node.body))


def _definitions(modules: Modules, module: Module, name: str) -> Iterator[tuple[Module, ast.stmt]]:
    for node in module.defined.get(name, []):
        yield module, node
    if name in module.imported:
        dotted, inner = module.imported[name]
        other = modules.module(modules.file_of(dotted, module.file) or "")
        if other is not None:
            for node in other.defined.get(inner, []):
                yield other, node


def _heads(part: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a compound statement without its body."""
    for name, value in ast.iter_fields(part):
        if name not in ("body", "orelse", "finalbody", "handlers", "cases", "decorator_list"):
            yield from (inner for inner in (value if isinstance(value, list) else [value]) if isinstance(inner, ast.AST))


class _Taint:
    """The names of one test that depend on production code."""

    def __init__(self, modules: Modules, module: Module, node: Function, owner: ast.ClassDef | None) -> None:
        self._modules = modules
        self._module = module
        self._known: dict[str, bool] = {}
        given = _parametrized(node, owner)
        self._fixed = _fixed(node, owner)
        self._names = {arg.arg for arg in _arguments(node) if arg.arg not in given and self._argument(arg.arg)}
        marks = [*node.decorator_list, *(owner.decorator_list if owner else [])]
        self._given: frozenset[str] = frozenset()
        if any(isinstance(part, ast.Name) and self._reaches(part.id) for mark in marks for part in ast.walk(mark)):
            self._names |= given
            self._given = given
        self._stored = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        for inner in ast.walk(node):
            if isinstance(inner, (ast.Import, ast.ImportFrom)) and _loads_production(modules, inner):
                self._names |= {alias.asname or alias.name.partition(".")[0] for alias in inner.names}
        statements = list(_statements(node.body))
        # What an inner function, class or lambda is given comes from whoever calls it: as a rule, production code.
        for inner in ast.walk(node):
            if inner is not node and isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
                self._names |= {part.arg for part in ast.walk(inner) if isinstance(part, ast.arg)}
                self._names |= {part.id for part in ast.walk(inner) if isinstance(part, ast.Name) and not hasattr(builtins, part.id)}
                self._names.add(getattr(inner, "name", "lambda"))
        before = -1
        while before != len(self._names):
            before = len(self._names)
            for statement in statements:
                self._spread(statement)

    def touches(self, part: ast.AST) -> bool:
        """Whether anything in a statement depends on production code."""
        names = (node.id for node in ast.walk(part) if isinstance(node, ast.Name))
        return any(self._tells(name) for name in names) or _loads_production(self._modules, part)

    def reads(self, test: ast.expr) -> bool:
        """Whether a condition names a value of production code without calling it, or a parameter that comes from there."""
        called = {id(_root(part.func)) for part in ast.walk(test) if isinstance(part, ast.Call)}
        names = [part for part in ast.walk(test) if isinstance(part, ast.Name) and id(part) not in called]
        return any(part.id in self._given or (part.id not in self._stored and self._is_value(part.id)) for part in names)

    def _is_value(self, name: str) -> bool:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return self._reaches(name) and not any(isinstance(node, kinds) for node in self._module.defined.get(name, []))

    def _argument(self, name: str) -> bool:
        """A fixture of pytest or of a plugin may hold what production code left there; a sealed one only if it reaches production code."""
        fixture = self._modules.fixture(name, self._module.file)
        if fixture is None:
            return True
        other = self._modules.module(fixture[0])
        return other is not None and any(self._modules.reach(fixture[0], part).production for part in other.defined[fixture[1]])

    def _tells(self, name: str) -> bool:
        return name in self._names or self._reaches(name)

    def _reaches(self, name: str) -> bool:
        if name not in self._known:
            node = ast.Name(id=name, ctx=ast.Load())
            bound = name in self._module.defined or name in self._module.imported
            self._known[name] = bound and self._modules.reach(self._module.file, node).production
        return self._known[name]

    def _spread(self, statement: ast.stmt) -> None:
        simple = not any(isinstance(part, ast.stmt) for part in ast.iter_child_nodes(statement))
        parts = [statement] if simple else list(_heads(statement))
        names = [node for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)]
        if not any(self._tells(node.id) for node in names) and not any(_loads_production(self._modules, part) for part in parts):
            return
        calls = any(isinstance(node, ast.Call) for part in parts for node in ast.walk(part))
        for node in names:
            # What a call was handed may have been changed by it.
            if isinstance(node.ctx, ast.Store) or (calls and self._can_change(node.id)):
                self._names.add(node.id)

    def _can_change(self, name: str) -> bool:
        return not hasattr(builtins, name) and name not in self._module.imported and name not in self._fixed


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _loads_production(modules: Modules, part: ast.AST) -> bool:
    for node in ast.walk(part):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = node.value.replace("/", ".").replace("-", ".").split(".")
            if any(word in modules.production for word in words):
                return True
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            if any(modules.is_production(name) for name in names):
                return True
    return False


def _arguments(node: Function) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def _fixed(node: Function, owner: ast.ClassDef | None) -> frozenset[str]:
    """Arguments that ``parametrize`` fills with numbers and texts alone: no call can change them."""
    names: set[str] = set()
    for mark in [*node.decorator_list, *(owner.decorator_list if owner else [])]:
        match mark:
            case ast.Call(args=[ast.Constant(value=str(words)), ast.List(elts=rows) | ast.Tuple(elts=rows), *_]):
                parts = [part for row in rows for part in ast.walk(row)]
                if all(isinstance(part, (ast.Constant, ast.Tuple, ast.UnaryOp, ast.unaryop, ast.expr_context)) for part in parts):
                    names |= {word.strip() for word in words.split(",")}
            case _:
                continue
    return frozenset(names)


def _parametrized(node: Function, owner: ast.ClassDef | None) -> frozenset[str]:
    """The argument names that ``parametrize`` or ``given`` fill with values of the sealed file."""
    names: set[str] = set()
    for mark in [*node.decorator_list, *(owner.decorator_list if owner else [])]:
        if isinstance(mark, ast.Call):
            names |= {keyword.arg for keyword in mark.keywords if keyword.arg}
            if mark.args and isinstance(mark.args[0], ast.Constant) and isinstance(mark.args[0].value, str):
                names |= {name.strip() for name in mark.args[0].value.split(",")}
            elif mark.args and isinstance(mark.args[0], (ast.Tuple, ast.List)):
                names |= {part.value for part in mark.args[0].elts if isinstance(part, ast.Constant) and isinstance(part.value, str)}
            if "given" in ast.dump(mark.func):
                names |= {arg.arg for arg in _arguments(node)} - {"self"}
    return frozenset(names)
