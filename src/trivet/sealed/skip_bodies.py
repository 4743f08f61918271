"""Skips inside bodies: calls, raises and marks, with or without a condition around them, through helpers of the sealed tree."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trivet.sealed.marks import Mark, Names
from trivet.sealed.modules import Function, Library, Module

_DEEPEST: Final = 6
_BUILTINS: Final = frozenset(dir(builtins)) - {"ImportError", "ModuleNotFoundError"}
_ENVIRONMENT: Final = frozenset({
    "sys", "platform", "os", "importlib", "version_info", "hexversion", "implementation", "uname", "machine", "system", "find_spec",
    "environ", "getenv", "geteuid", "getuid", "ImportError", "ModuleNotFoundError", "shutil", "which", "packaging", "maxsize", "byteorder",
    "sysconfig", "python_implementation", "PYPY", "WIN", "WINDOWS", "MSWIN",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """One skip found in a body: line, what it is, and the conditions that stand around it or in it."""

    line: int
    form: str
    conditions: tuple[ast.AST, ...]

    @property
    def conditional(self) -> bool:
        """Whether it may not fire here."""
        return bool(self.conditions)


class Bodies:
    """Finds skips in the bodies of one library's functions."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def in_function(self, module: Module, node: Function, depth: int = 0) -> Iterator[Skip]:
        """Skips in a function: in its own body, in functions nested in it, in sealed helpers it calls."""
        for decorator in node.decorator_list:
            yield from self.in_expression(module, decorator, (), depth)
        yield from self.in_block(module, node.body, (), depth)

    def in_block(self, module: Module, body: list[ast.stmt], around: tuple[ast.AST, ...], depth: int) -> Iterator[Skip]:
        """Skips in the statements of a block, each with the conditions around it."""
        ended: tuple[ast.AST, ...] = ()
        for statement in body:
            yield from self._in_statement(module, statement, (*around, *ended), depth)
            if isinstance(statement, ast.If) and _leaves(statement.body):
                ended = (*ended, statement.test)  # what follows runs only where the condition does not hold

    def _in_statement(self, module: Module, statement: ast.stmt, around: tuple[ast.AST, ...], depth: int) -> Iterator[Skip]:
        if isinstance(statement, Function):
            yield from (self._around(skip, around) for skip in self.in_function(module, statement, depth))
            return
        if isinstance(statement, ast.ClassDef):
            for decorator in statement.decorator_list:
                yield from self.in_expression(module, decorator, around, depth)
            yield from self.in_block(module, statement.body, around, depth)
            return
        raised = module.names.skips(statement)
        if raised is not None:
            yield Skip(line=statement.lineno, form=raised[0], conditions=around)
        for field, value in ast.iter_fields(statement):
            if isinstance(value, ast.expr):
                yield from self.in_expression(module, value, around, depth)
            elif isinstance(value, list):
                yield from self._in_field(module, statement, field, value, around, depth)

    def _in_field(
        self, module: Module, statement: ast.stmt, field: str, value: list[object], around: tuple[ast.AST, ...], depth: int
    ) -> Iterator[Skip]:
        inner = around
        if isinstance(statement, ast.If | ast.While):
            inner = around if _always(statement.test) and field == "body" else (*around, statement.test)
        elif isinstance(statement, ast.For | ast.AsyncFor | ast.Match) or (isinstance(statement, ast.Try) and field == "orelse"):
            inner = (*around, statement)
        blocks = [item for item in value if isinstance(item, ast.stmt)]
        yield from self.in_block(module, blocks, inner, depth)
        for item in value:
            if isinstance(item, ast.ExceptHandler | ast.match_case):
                yield from self.in_block(module, item.body, (*around, item), depth)
            elif isinstance(item, ast.withitem):
                yield from self.in_expression(module, item.context_expr, around, depth)
            elif isinstance(item, ast.expr):
                yield from self.in_expression(module, item, around, depth)

    def in_expression(self, module: Module, node: ast.expr, around: tuple[ast.AST, ...], depth: int = 0) -> Iterator[Skip]:
        """Skips that evaluating an expression brings: marks, skip calls, calls of helpers."""
        mark = self.mark(module, node)
        if mark is not None:
            conditions = around if mark.condition is None else (*around, mark.condition)
            yield Skip(line=node.lineno, form=mark.form, conditions=conditions)
            return
        called = module.names.skips(node)
        if called is not None:
            yield Skip(line=node.lineno, form=called[0], conditions=(*around, node) if called[1] else around)
            return
        if isinstance(node, ast.Call | ast.Name | ast.Attribute) and depth < _DEEPEST:
            yield from self._in_helper(module, node, around, depth)
        for part, condition in _parts(node):
            yield from self.in_expression(module, part, (*around, condition) if condition is not None else around, depth)

    def _in_helper(self, module: Module, node: ast.expr, around: tuple[ast.AST, ...], depth: int) -> Iterator[Skip]:
        """Skips in what a name stands for: a list of parameters, or a function that is called or used as a decorator."""
        for owner, found in self.follow(module, node.func if isinstance(node, ast.Call) else node):
            if isinstance(found, Function):
                if isinstance(node, ast.Call):  # a function that is only named is not called
                    skips = self.in_block(owner, found.body, around, depth + 1)
                    yield from (Skip(line=node.lineno, form=f"{skip.form} in {found.name}", conditions=skip.conditions) for skip in skips)
            elif isinstance(found, ast.Assign | ast.AnnAssign) and found.value is not None and not isinstance(node, ast.Call):
                skips = self.in_expression(owner, found.value, around, depth + 1)
                yield from (Skip(line=node.lineno, form=skip.form, conditions=skip.conditions) for skip in skips)

    def as_decorator(self, module: Module, node: ast.expr) -> Iterator[Skip]:
        """Skips that a decorator brings: a bare name is called with the test."""
        bare = isinstance(node, ast.Name | ast.Attribute) and self.mark(module, node) is None
        if bare:
            call = ast.copy_location(ast.Call(func=node, args=[], keywords=[]), node)
            yield from self._in_helper(module, call, (), 0)
        yield from self.in_expression(module, node, ())

    def mark(self, module: Module, node: ast.expr) -> Mark | None:
        """The skip mark that an expression is, also where the name comes from a sealed helper."""
        mark = module.names.mark(node)
        if mark is None and isinstance(node, ast.Name | ast.Attribute | ast.Call):
            called = node.func if isinstance(node, ast.Call) else node
            for owner, found in self.follow(module, called):
                if owner is not module and isinstance(found, ast.Assign) and isinstance(found.targets[0], ast.Name):
                    mark = mark or owner.names.mark(ast.copy_location(ast.Name(id=found.targets[0].id, ctx=ast.Load()), node))
        return mark

    def follow(self, module: Module, node: ast.expr) -> Iterator[tuple[Module, ast.stmt]]:
        """The sealed statements that bind what a name or an attribute of a module stands for."""
        if isinstance(node, ast.Name):
            name, attribute = node.id, ""
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name, attribute = node.value.id, node.attr
        else:
            return
        if not attribute and name in module.bindings:
            yield from ((module, found) for found in module.bindings[name])
            return
        imported = module.imports.get(name)
        if imported is None:
            for star in module.stars:
                for place in self._library.resolve(star.module, module):
                    yield from ((place, found) for found in place.bindings.get(name, ()))
            return
        joint = "." if imported.module.strip(".") else ""
        inner = attribute or imported.name
        whole = f"{imported.module}{joint}{imported.name}" if attribute and imported.name else imported.module
        for place in self._library.resolve(whole, module):
            yield from ((place, found) for found in place.bindings.get(inner, ()))

    @staticmethod
    def _around(skip: Skip, around: tuple[ast.AST, ...]) -> Skip:
        return Skip(line=skip.line, form=skip.form, conditions=(*around, *skip.conditions))


def environmental(conditions: tuple[ast.AST, ...], names: Names) -> bool:
    """Whether conditions speak of platform, version, user or packages alone."""
    return bool(conditions) and all(_speaks_of_environment(condition, names) for condition in conditions)


def _speaks_of_environment(condition: ast.AST, names: Names, depth: int = 0) -> bool:
    expression = condition.type if isinstance(condition, ast.ExceptHandler) else condition
    if expression is None or depth > _DEEPEST:
        return False
    said = [_word(part, names, depth) for part in ast.walk(expression) if isinstance(part, ast.Name) and part.id not in _BUILTINS]
    return bool(said) and all(said)


def _word(name: ast.Name, names: Names, depth: int) -> bool:
    """Whether one name of a condition speaks of the environment: a module of it, a package that may be missing, a value made of such."""
    if name.id in names.optional or name.id in _ENVIRONMENT or names.dotted(name).partition(".")[0] in _ENVIRONMENT:
        return True
    value = names.values.get(name.id)
    return value is not None and _speaks_of_environment(value, names, depth + 1)


def _parts(node: ast.expr) -> Iterator[tuple[ast.expr, ast.AST | None]]:
    """The expressions in an expression, each with the condition under which it is evaluated."""
    if isinstance(node, ast.IfExp):
        yield node.test, None
        yield node.body, node.test
        yield node.orelse, node.test
        return
    if isinstance(node, ast.BoolOp):
        yield node.values[0], None
        yield from ((value, node) for value in node.values[1:])
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child, None
        elif isinstance(child, ast.keyword):
            yield child.value, None
        elif isinstance(child, ast.comprehension):
            yield child.iter, None


def _leaves(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Continue | ast.Break)


def _always(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)
