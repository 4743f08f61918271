"""Assertions that cannot fail, found by reading. Pure."""

import ast
from typing import List, Optional, Tuple

from .mutate_sites import EQUALS, line_of


def tautologies(source: str) -> List[Tuple[int, str]]:
    """List assertions that cannot fail: (line, text). Constants, a value compared with itself, a tuple as the condition.

    Raises:
        SyntaxError: the source is not Python for this interpreter.
    """
    lines = source.splitlines()
    found = []
    for node in ast.walk(ast.parse(source)):
        test: Optional[ast.expr] = node.test if isinstance(node, ast.Assert) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _empty_method(node):
            found.append((node.lineno, line_of(lines, node.lineno)))
        if test is not None and _always(test):
            found.append((node.lineno, line_of(lines, node.lineno)))
    return sorted(set(found))


def _empty_method(call: ast.Call) -> bool:
    name, args = call.func.attr, call.args
    if name in EQUALS or name == "assertIs":
        return len(args) >= 2 and (_same(args[0], args[1]) or (_constant(args[0]) and _constant(args[1])))
    return name in ("assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone") and bool(args) and _constant(args[0])


def _always(test: ast.expr) -> bool:
    if _constant(test):
        return True
    if isinstance(test, ast.BoolOp):
        every = isinstance(test.op, ast.And)
        return (all if every else any)(_always(value) for value in test.values)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = test.left, test.comparators[0]
        same = _same(left, right) and isinstance(test.ops[0], (ast.Eq, ast.Is, ast.LtE, ast.GtE))
        return same or (_constant(left) and _constant(right))
    return False


def _constant(node: ast.expr) -> bool:
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return all(_constant(item) for item in node.elts)
    if isinstance(node, ast.Dict):
        return all(_constant(item) for item in [*node.keys, *node.values] if item is not None)
    if isinstance(node, ast.UnaryOp):
        return _constant(node.operand)
    return isinstance(node, (ast.Constant, ast.Lambda, ast.JoinedStr))


def _same(left: ast.expr, right: ast.expr) -> bool:
    """Tell whether two expressions are written alike and call nothing (``f(x) == f(x)`` says that f is deterministic)."""
    return not any(isinstance(part, (ast.Call, ast.Await)) for part in ast.walk(left)) and ast.dump(left) == ast.dump(right)
