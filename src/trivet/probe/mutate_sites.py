"""Where a test asserts, and how each assertion can be altered so that it must fail.

Pure: syntax trees in, sites out, and the same trees altered in place. The host plans controls with ``find`` and the guest alters its copy
with ``alter``; both ask ``ways`` what can be done to one statement, so that a planned (line, kind) always means the same alteration.

An altered tree speaks to an ``Alter`` object (see ``mutate_values``) through a placeholder constant, a text that starts with ``MARK``;
after compilation ``plant`` puts the object itself in its place among the code's constants. Nothing of it shows in any namespace.

Kinds: ``slight`` and ``gross`` (the expected value is changed in its own type), ``sentinel`` (it is replaced by something that is equal to
nothing), ``negate``, ``raises`` (a private exception class is awaited), ``intruder`` (the awaited block raises a private exception),
``canary`` (the first statement of the test fails), ``given=NAME`` (the parameter NAME of a parametrised test, which only the expected side
reads, is altered before the test starts: code that takes the answer from the test takes the wrong one).
"""

import ast
from types import CodeType
from typing import Callable, Dict, Iterator, List, NamedTuple, Tuple

MARK = "\ue0f3\ue0f7"
VALUE_KINDS = ("slight", "gross", "sentinel")
GIVEN = "given="
KINDS = ("slight", "gross", "sentinel", "negate", "raises", "intruder", "canary")

_Ways = Dict[str, Callable[[str], None]]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_RAISES = {"raises", "warns", "assertRaises", "assertRaisesRegex", "assertWarns", "assertWarnsRegex", "assertRaisesRegexp"}
_CLOSE = {
    "isclose", "allclose", "assert_allclose", "assert_array_equal", "assert_equal", "assert_almost_equal", "assert_array_almost_equal",
}
_OPPOSITES = (
    ("assertEqual", "assertNotEqual"), ("assertTrue", "assertFalse"), ("assertIs", "assertIsNot"), ("assertIsNone", "assertIsNotNone"),
    ("assertIn", "assertNotIn"), ("assertIsInstance", "assertNotIsInstance"), ("assertAlmostEqual", "assertNotAlmostEqual"),
    ("assertLess", "assertGreaterEqual"), ("assertLessEqual", "assertGreater"), ("assertRegex", "assertNotRegex"),
)
_OPPOSITE = {**dict(_OPPOSITES), **{right: left for left, right in _OPPOSITES}}
EQUALS = {
    "assertEqual", "assertEquals", "assertListEqual", "assertTupleEqual", "assertSetEqual", "assertDictEqual", "assertSequenceEqual",
    "assertMultiLineEqual", "assertCountEqual", "assertItemsEqual", "assertAlmostEqual", "assertAlmostEquals",
}
_CALLED_WITH = {"assert_called_with", "assert_called_once_with", "assert_any_call"}


class Site(NamedTuple):
    """One assertion. ``kinds``: best first. ``sure``: reached whenever the test passes. ``lines``: from ``line`` to ``end``."""

    line: int
    end: int
    kinds: Tuple[str, ...]
    sure: bool
    text: str


class Function(NamedTuple):
    """One function of a module. ``name`` is ``Class::method`` or ``name``; ``calls`` are the plain names that its body calls."""

    name: str
    sites: Tuple[Site, ...]
    calls: Tuple[str, ...]
    first: int
    last: int
    tests: bool
    """True for what a test runner may collect: a module's functions and the methods of its classes."""


# --- reading --------------------------------------------------------------------------------------


def find(source: str) -> Dict[str, Function]:
    """List the functions of a module with their assertions, by name.

    Raises:
        SyntaxError: the source is not Python for this interpreter.
    """
    lines = source.splitlines()
    found: Dict[str, Function] = {}
    for name, node in functions(ast.parse(source)):
        sites = tuple(
            Site(stmt.lineno, stmt.end_lineno or stmt.lineno, kinds, sure, line_of(lines, stmt.lineno))
            for stmt, sure in _statements(node.body, sure=True)
            for kinds in [(*(kind for kind in KINDS if kind in ways(stmt)), *_given(stmt, node))]
            if kinds
        )
        found[name] = Function(name, sites, tuple(_calls(node)), _first(node).lineno, node.end_lineno or node.lineno, True)
    return found


def functions(tree: ast.Module) -> Iterator[Tuple[str, ast.AST]]:
    """Yield (``Class::name``, node) of each function at module or class level, also below ``if`` and ``try``."""
    yield from _functions(tree.body, "")


def _functions(body: List[ast.stmt], prefix: str) -> Iterator[Tuple[str, ast.AST]]:
    for node in body:
        if isinstance(node, _FUNCTIONS):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, prefix + node.name + "::")
        elif isinstance(node, (ast.If, ast.Try)):
            yield from _functions(node.body, prefix)
            yield from _functions(node.orelse, prefix)


def _statements(body: List[ast.stmt], *, sure: bool) -> Iterator[Tuple[ast.stmt, bool]]:
    """Yield (statement, reached for sure), outer ones first, without nested functions and classes."""
    for stmt in body:
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        yield stmt, sure
        if isinstance(stmt, (ast.With, ast.AsyncWith)):
            plain = not any(_swallows(item.context_expr) for item in stmt.items)
            yield from _statements(stmt.body, sure=sure and plain)
        elif isinstance(stmt, (ast.For, ast.AsyncFor, ast.While, ast.If, ast.Try)):
            for part in (stmt.body, stmt.orelse, getattr(stmt, "finalbody", [])):
                yield from _statements(part, sure=False)
        if sure and any(isinstance(part, (ast.Return, ast.Raise)) for part in ast.walk(stmt)):
            sure = False


def _given(stmt: ast.stmt, function: ast.AST) -> Iterator[str]:
    """``given=NAME`` for ``assert f(x) == NAME`` or ``== Decimal(NAME)`` where NAME is an argument that nothing else reads."""
    test = stmt.test if isinstance(stmt, ast.Assert) else None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return
    left, right = test.left, test.comparators[0]
    side = left if _expected(left, right) == 0 else right
    if _called(side) in ("Decimal", "Fraction") and len(side.args) == 1:
        side = side.args[0]
    if isinstance(side, ast.Name) and side.id in {arg.arg for arg in [*function.args.args, *function.args.kwonlyargs]}:
        uses = [part for body in function.body for part in ast.walk(body) if isinstance(part, ast.Name) and part.id == side.id]
        if len(uses) == 1:
            yield GIVEN + side.id


def _swallows(expression: ast.expr) -> bool:
    name = _called(expression)
    return name in _RAISES or name in ("subTest", "suppress", "deprecated_call", "subtests", "test")


def _calls(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            if isinstance(part.func, ast.Name):
                yield part.func.id
            elif isinstance(part.func, ast.Attribute) and isinstance(part.func.value, ast.Name):
                yield part.func.attr


def _first(node: ast.AST) -> ast.stmt:
    body = node.body
    documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str)
    return body[1] if documented and len(body) > 1 else body[0]


def line_of(lines: List[str], number: int) -> str:
    """The text of a line, bounded; "" where there is none."""
    return lines[number - 1].strip()[:160] if 0 < number <= len(lines) else ""


# --- altering -------------------------------------------------------------------------------------


def alter(tree: ast.Module, line: int, kind: str, mark: str) -> bool:
    """Alter the assertion that starts at ``line`` in place, line numbers kept; False if there is none of that kind."""
    return Altering(tree).alter(line, kind, mark)


class Altering:
    """Alters many assertions of one tree, which is searched only once."""

    def __init__(self, tree: ast.Module) -> None:
        self._statements: Dict[int, List[ast.stmt]] = {}
        self._firsts: Dict[int, ast.AST] = {}
        for _, node in functions(tree):
            self._firsts.setdefault(_first(node).lineno, node)
            for stmt, _sure in _statements(node.body, sure=True):
                self._statements.setdefault(stmt.lineno, []).append(stmt)

    def alter(self, line: int, kind: str, mark: str) -> bool:
        """See ``alter``."""
        if kind == "canary":
            return line in self._firsts and _canary(self._firsts[line], line, mark)
        for stmt in self._statements.get(line, ()):
            way = ways(stmt).get(kind)
            if way is not None:
                way(mark)
                ast.fix_missing_locations(stmt)
                return True
        return False


def plant(code: CodeType, objects: Dict[str, object]) -> CodeType:
    """Replace the placeholder constants of compiled code, nested code included, by the objects they stand for."""
    changed, consts = False, []
    for const in code.co_consts:
        new = const
        if isinstance(const, CodeType):
            new = plant(const, objects)
        elif type(const) is str and const in objects:
            new = objects[const]
        changed = changed or new is not const
        consts.append(new)
    return code.replace(co_consts=tuple(consts)) if changed else code


def ways(stmt: ast.stmt) -> _Ways:
    """Say how a statement can be altered so that it must fail: kind → function that does it, given the placeholder."""
    if isinstance(stmt, ast.Assert):
        return _truth(stmt.test, lambda new: setattr(stmt, "test", new))
    if isinstance(stmt, (ast.With, ast.AsyncWith)):
        for item in stmt.items:
            found = _raises(item.context_expr)
            if found:
                found["intruder"] = lambda mark: _intrude(stmt, mark)
                return found
        return {}
    value = getattr(stmt, "value", None) if isinstance(stmt, (ast.Expr, ast.Assign, ast.Return)) else None
    if isinstance(value, ast.Await):
        value = value.value
    if not isinstance(value, ast.Call):
        return {}
    name = _called(value)
    if name in _RAISES:
        return _raises(value) if len(value.args) > 1 else {}
    if not isinstance(stmt, ast.Expr):
        return {}
    return _method(value, name)


def _truth(test: ast.expr, put: Callable[[ast.expr], None]) -> _Ways:
    negate: _Ways = {"negate": lambda mark: put(ast.copy_location(ast.UnaryOp(ast.Not(), _ask(mark, "see", test)), test))}
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        inner = _truth(test.values[0], lambda new: test.values.__setitem__(0, new))
        return inner or negate
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return {**_compare(test), **negate}
    if isinstance(test, ast.Call):
        name = _called(test)
        if name in ("isinstance", "issubclass") and len(test.args) == 2:
            return {"sentinel": lambda mark: _swap(test.args, 1, mark, "kind"), **negate}
        if name in _CLOSE and len(test.args) >= 2:
            return {**_values(test.args, _expected(test.args[0], test.args[1])), **negate}
    return negate


def _compare(test: ast.Compare) -> _Ways:
    op, left, right = test.ops[0], test.left, test.comparators[0]
    if isinstance(op, (ast.Eq, ast.Is)):
        on_left = _expected(left, right) == 0
        sides = _Sides(test)
        if isinstance(op, ast.Is):
            return {"sentinel": lambda mark: sides.swap(on_left, mark, "sentinel")}
        return {kind: (lambda mark, kind=kind: sides.swap(on_left, mark, kind)) for kind in VALUE_KINDS}
    if isinstance(op, ast.In):
        literal = isinstance(right, (ast.Tuple, ast.List, ast.Set, ast.Constant))
        return {"sentinel": lambda mark: _Sides(test).swap(not literal, mark, "holder" if literal else "member")}
    if isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        return {"sentinel": lambda mark: _Sides(test).swap(_expected(left, right) == 0, mark, "sentinel")}
    return {}


class _Sides:
    """The two sides of a comparison, to be replaced by (left?, placeholder, what to ask)."""

    def __init__(self, test: ast.Compare) -> None:
        self.test = test

    def swap(self, on_left: bool, mark: str, ask: str) -> None:
        if on_left:
            self.test.left = _ask(mark, ask, self.test.left)
        else:
            self.test.comparators[0] = _ask(mark, ask, self.test.comparators[0])


def _method(call: ast.Call, name: str) -> _Ways:
    """Ways for ``self.assertX(...)``, ``mock.assert_called_with(...)`` and the like."""
    args, found = call.args, {}
    if any(isinstance(arg, ast.Starred) for arg in args[:2]):
        return {}
    equals = name in EQUALS and isinstance(call.func, ast.Attribute)
    if len(args) >= 2 and (equals or (name in _CLOSE and name.startswith("assert"))):
        found.update(_values(args, _expected(args[0], args[1])))
    elif name in _CALLED_WITH and args:
        found["sentinel"] = lambda mark: _swap(args, 0, mark, "sentinel")
    elif name in ("assertIs", "assertIsNone") and args:
        found["sentinel"] = lambda mark: _swap(args, len(args[:2]) - 1 if name == "assertIs" else 0, mark, "sentinel")
    elif name == "assertIn" and len(args) >= 2:
        found["sentinel"] = lambda mark: _swap(args, 0, mark, "member")
    elif name == "assertIsInstance" and len(args) >= 2:
        found["sentinel"] = lambda mark: _swap(args, 1, mark, "kind")
    elif name in ("assertTrue", "assertFalse") and args:
        found["negate"] = lambda mark: args.__setitem__(0, ast.copy_location(ast.UnaryOp(ast.Not(), _ask(mark, "see", args[0])), args[0]))
    if name in _OPPOSITE and "negate" not in found and args and isinstance(call.func, ast.Attribute):
        function = call.func
        found["negate"] = lambda mark: (_swap(args, 0, mark, "see"), setattr(function, "attr", _OPPOSITE[name]))
    return found


def _values(args: List[ast.expr], at: int) -> _Ways:
    return {kind: (lambda mark, kind=kind: _swap(args, at, mark, kind)) for kind in VALUE_KINDS}


def _raises(expression: ast.expr) -> _Ways:
    """Ways for ``pytest.raises(X)``, ``warns(X)``, ``self.assertRaises(X)``: another exception class is awaited."""
    if not isinstance(expression, ast.Call) or _called(expression) not in _RAISES:
        return {}
    ask = "warning" if "arn" in _called(expression) else "error"
    if expression.args and not isinstance(expression.args[0], ast.Starred):
        return {"raises": lambda mark: _swap(expression.args, 0, mark, ask)}
    for keyword in expression.keywords:
        if keyword.arg == "expected_exception":
            return {"raises": lambda mark, keyword=keyword: setattr(keyword, "value", _ask(mark, ask, keyword.value))}
    return {}


def _intrude(stmt: ast.With, mark: str) -> None:
    first = stmt.body[0]
    stmt.body.insert(0, ast.copy_location(ast.Raise(_ask(mark, "intruder", ast.Constant(None)), None), first))


def _canary(node: ast.AST, line: int, mark: str) -> bool:
    first = _first(node)
    if first.lineno != line:
        return False
    node.body.insert(node.body.index(first), ast.copy_location(ast.Assert(_ask(mark, "canary", ast.Constant(None)), None), first))
    ast.fix_missing_locations(node)
    return True


def _swap(args: List[ast.expr], at: int, mark: str, ask: str) -> None:
    args[at] = _ask(mark, ask, args[at])


def _ask(mark: str, ask: str, value: ast.expr) -> ast.expr:
    """Build ``PLACEHOLDER.ask(value)`` in the place of ``value``."""
    at = value if hasattr(value, "lineno") else None
    new = ast.Call(ast.Attribute(ast.Constant(mark), ask, ast.Load()), [value], [])
    if at is None:
        return new
    for part in (new, new.func, new.func.value):
        ast.copy_location(part, at)
    return new


def _called(node: ast.AST) -> str:
    """Name what is called: the last part of ``a.b.c(...)``, "" if it has none."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _expected(left: ast.expr, right: ast.expr) -> int:
    """Guess which of two compared expressions is the expected one: 0 or 1. The plainer one; if they are alike, the right one."""
    return 0 if _weight(left) < _weight(right) else 1


def _weight(node: ast.expr) -> int:
    if _called(node) in ("approx", "Decimal", "Fraction", "dict", "list", "set", "tuple"):
        return 1
    weight = 0 if isinstance(node, (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set)) else 1
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            weight += 2
        elif isinstance(part, ast.Name) and (part.id == "expected" or part.id.startswith(("expected", "want"))):
            return 0
    return weight
