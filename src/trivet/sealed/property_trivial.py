"""Assertions that hold whatever the values are: constants, a value compared with itself, a condition or its contrary. Pure.

Only what is certain by its form alone is told; what two calls give back are two values.
"""

from __future__ import annotations

import ast

_TWO = 2
_METHODS: dict[str, ast.cmpop] = {
    **dict.fromkeys(("assertEqual", "assertEquals", "assertListEqual", "assertDictEqual", "assertTupleEqual", "assertSetEqual"), ast.Eq()),
    **dict.fromkeys(("assertMultiLineEqual", "assertSequenceEqual", "assertCountEqual", "assertAlmostEqual"), ast.Eq()),
    "assertIs": ast.Is(),
    "assertIn": ast.In(),
    "assertLessEqual": ast.LtE(),
    "assertGreaterEqual": ast.GtE(),
}
"""Assertion methods of unittest that compare two values, and how."""


def is_trivial(statement: ast.stmt) -> bool:
    """Whether an ``assert`` holds for every value: a true constant, a value compared with itself, ``... or True``."""
    if isinstance(statement, ast.Assert):
        return _always(statement.test)
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and _holds(call.func.attr, call.args)


def _holds(method: str, args: list[ast.expr]) -> bool:  # noqa: PLR0911 - one row for each method
    """Whether an assertion method of unittest holds whatever its arguments stand for."""
    if len(args) >= _TWO and method in _METHODS:
        return _always_compares(args[0], _METHODS[method], args[1])
    match method, args:
        case "assertTrue", [test, *_]:
            return _always(test)
        case "assertFalse", [test, *_]:
            return _never(test)
        case "assertIsNotNone", [test, *_]:
            return _always_compares(test, ast.IsNot(), ast.Constant(None)) or isinstance(test, (ast.List, ast.Dict, ast.Tuple, ast.Set))
        case "assertIsNone", [ast.Constant(value=None), *_]:
            return True
        case "assertIsInstance", [_, ast.Name(id="object"), *_]:
            return True
        case _:
            return False


def _always(test: ast.expr) -> bool:  # noqa: C901, PLR0911, PLR0912 - one row for each form of expression
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return bool(parts)
        case ast.Dict(keys=keys):
            return bool(keys)
        case ast.JoinedStr() | ast.Lambda():
            return True
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _never(inner)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_always(value) for value in values) or any(_opposite(a, b) for a in values for b in values)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_always(value) for value in values)
        case ast.NamedExpr(value=value):
            return _always(value)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _always_compares(left, op, right)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id="object")]):
            return True
        case ast.Call(func=ast.Name(id="isinstance"), args=[value, ast.Call(func=ast.Name(id="type"), args=[other])]):
            return _alike(value, other)
        case ast.Call(func=ast.Name(id="all"), args=[ast.List(elts=[]) | ast.Tuple(elts=[])]):
            return True
        case ast.IfExp(body=body, orelse=orelse):
            return _always(body) and _always(orelse)
        case ast.Call(func=ast.Name(id="bool"), args=[inner]):
            return _always(inner)
        case _:
            return False


def _never(test: ast.expr) -> bool:
    match test:
        case ast.Constant(value=value):
            return not value
        case ast.Tuple(elts=[]) | ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _always(inner)
        case ast.Compare(left=left, ops=[ast.NotEq() | ast.IsNot() | ast.Lt() | ast.Gt()], comparators=[right]):
            return _alike(left, right)
        case ast.BoolOp(op=ast.And(), values=values):
            return any(_never(value) for value in values) or any(_opposite(a, b) for a in values for b in values)
        case _:
            return False


_PLAIN_CALLS = frozenset({"str", "repr", "type", "len", "id", "int", "float", "bool", "list", "tuple", "dict", "set", "sorted", "hash"})
_OPPOSITE = (
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.Lt, ast.GtE),
    (ast.Gt, ast.LtE),
)


def _alike(left: ast.expr, right: ast.expr) -> bool:
    """Whether two expressions are written alike and call nothing but plain functions: two calls of others are two values."""
    calls = (part.func for part in ast.walk(left) if isinstance(part, ast.Call))
    plain = all(isinstance(func, ast.Name) and func.id in _PLAIN_CALLS for func in calls)
    return plain and ast.dump(left) == ast.dump(right) and not any(isinstance(part, ast.Await) for part in ast.walk(left))


def _opposite(one: ast.expr, other: ast.expr) -> bool:
    """Whether one condition is the other's contrary: ``x`` and ``not x``, ``a == b`` and ``a != b``."""
    if isinstance(other, ast.UnaryOp) and isinstance(other.op, ast.Not):
        return _alike(one, other.operand)
    match one, other:
        case ast.Compare(left=a, ops=[first], comparators=[b]), ast.Compare(left=c, ops=[second], comparators=[d]):
            pairs = [(type(first), type(second)), (type(second), type(first))]
            return any(pair in pairs for pair in _OPPOSITE) and _alike(a, c) and _alike(b, d)
        case _:
            return False


def _is_among(value: ast.expr, row: ast.expr) -> bool:
    """Whether a value is written among the members, or can be nothing but one of them: ``x in [x, 1]``, ``(a == b) in (True, False)``."""
    if not isinstance(row, (ast.Tuple, ast.List, ast.Set)):
        return False
    both = {part.value for part in row.elts if isinstance(part, ast.Constant)} >= {True, False}
    return (both and _is_truth(value)) or any(_alike(value, part) for part in row.elts)


def _is_truth(value: ast.expr) -> bool:
    """Whether an expression gives True or False and nothing else."""
    match value:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Call(func=ast.Name(id="bool" | "isinstance" | "callable" | "hasattr")):
            return True
        case _:
            return False


def _always_compares(left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool:
    if _alike(left, right):
        return isinstance(op, (ast.Eq, ast.Is, ast.LtE, ast.GtE))
    if isinstance(op, ast.In) and _is_among(left, right):
        return True
    constant = _constant(left) and _constant(right)
    if constant:
        try:
            # Constants only: nothing of the file is executed.
            return bool(eval(compile(ast.Expression(ast.Compare(left, [op], [right])), "constant", "eval"), {"__builtins__": {}}))  # noqa: S307
        except Exception:  # noqa: BLE001 - a comparison that fails is not always true
            return False
    size = isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.func.id in ("len", "abs")
    return size and isinstance(op, ast.GtE) and isinstance(right, ast.Constant) and right.value == 0


def _constant(node: ast.expr) -> bool:
    """A literal of constants, without names or calls, small enough to look at."""
    allowed = (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.UnaryOp, ast.unaryop, ast.expr_context)
    parts = list(ast.walk(node))
    return len(parts) < 200 and all(isinstance(part, allowed) for part in parts)  # noqa: PLR2004
