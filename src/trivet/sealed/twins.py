"""Tests that are defined twice in one scope: the later definition silently replaces the earlier one.

Honest patterns are left alone: ``@overload``, property setters and other decorators that take the earlier definition, branches of ``if``
and ``try``, a ``del`` between the two.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trivet.git import Tree
from trivet.model import Drift, Level

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINED = re.compile(rb"\b(?:def|class)(?:\s|\\\r?\n)+(\w+)")
_ASSIGNED = re.compile(rb"\btest\w*[\s\\)]*=(?!=)")
_TRANSPARENT = frozenset({"overload", "singledispatch", "dispatch", "multimethod", "register"})


def twins(tree: Tree, tests: tuple[str, ...], *, level: Level = "error") -> tuple[Drift, ...]:
    """Find every replaced test in the sealed files; a file that can't be parsed has none (the run will say so)."""
    found: list[Drift] = []
    for file in tests:
        data = tree.read(file.encode("utf-8", "surrogateescape"))
        for name, first, second in replaced(data or b""):
            message = f"{name} is defined in line {first} already; that definition never runs"
            found.append(Drift(rule="TRV118", message=message, path=file, line=second, level=level))
    return tuple(found)


def new_twins(base: Tree, base_tests: tuple[str, ...], head: Tree, head_tests: tuple[str, ...]) -> tuple[Drift, ...]:
    """The replaced tests that head has and base has not (an error for the change that brings them)."""
    known = {(drift.path, drift.message.split(" ", 1)[0]) for drift in twins(base, base_tests)}
    return tuple(drift for drift in twins(head, head_tests) if (drift.path, drift.message.split(" ", 1)[0]) not in known)


def replaced(source: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield ``(Class.name or name, first line, second line)`` for each test that a later definition replaces."""
    if source.isascii():
        # No name is defined twice anywhere, nor is a test's name assigned to: nothing is replaced, and the file need not be parsed.
        names = _DEFINED.findall(source)
        if len(set(names)) == len(names) and not _ASSIGNED.search(source):
            return
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from _scope(module.body, "")


def _scope(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, int, int]]:
    seen: dict[str, int] = {}
    for statement in body:
        for name in _deleted(statement):
            seen.pop(name, None)
        if isinstance(statement, ast.ClassDef):
            yield from _scope(statement.body, f"{prefix}{statement.name}.")
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = statement.name
            if name in seen and _is_test(statement) and not _takes_earlier(statement):
                yield f"{prefix}{name}", seen[name], statement.lineno
            seen[name] = statement.lineno
        else:
            for name in _assigned(statement):
                if name in seen and name.startswith("test") and not _mentions(statement, name):
                    yield f"{prefix}{name}", seen[name], statement.lineno
                seen.pop(name, None)
            for block in _blocks(statement):
                yield from _scope(block, prefix)


def _is_test(node: _Definition) -> bool:
    return node.name.startswith(("test", "Test")) or (isinstance(node, ast.ClassDef) and node.name.endswith(("Test", "Tests", "TestCase")))


def _takes_earlier(node: _Definition) -> bool:
    for decorator in node.decorator_list:
        names = {part.id for part in ast.walk(decorator) if isinstance(part, ast.Name)}
        attributes = {part.attr for part in ast.walk(decorator) if isinstance(part, ast.Attribute)}
        if node.name in names or (names | attributes) & _TRANSPARENT:
            return True
    # class Test(Test): the earlier one lives on as the base
    return isinstance(node, ast.ClassDef) and any(isinstance(base, ast.Name) and base.id == node.name for base in node.bases)


def _deleted(statement: ast.stmt) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Delete) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _assigned(statement: ast.stmt) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _mentions(statement: ast.stmt, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) for node in ast.walk(statement))


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The bodies below a compound statement: each is a scope of its own, for only one of them runs."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(statement, field, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body
