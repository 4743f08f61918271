"""Code in plain form, and its digests.

Dropped: docstrings, annotations of functions and locals, skip and xfail marks, places. Kept: everything that changes behaviour. Two
digests are made of it: of the compiled code (constants, names and nested code included; it changes with the interpreter) and of the
syntax tree (the same for every CPython).
"""

from __future__ import annotations
import __future__

import ast
import copy
import hashlib
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import Final

from trivet.sealed.marks import Names

_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_IGNORED_FIELDS: Final = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


def plain(node: ast.stmt, names: Names) -> ast.stmt | None:
    """A copy of a statement in plain form; None where nothing is left of it."""
    stripped = _Strip(names).visit(copy.deepcopy(node))
    if stripped is None:
        return None
    assert isinstance(stripped, ast.stmt)  # noqa: S101 - a statement stays a statement
    for part in ast.walk(stripped):
        if isinstance(part, ast.stmt | ast.expr | ast.excepthandler | ast.arg | ast.keyword | ast.alias | ast.pattern):
            part.lineno = part.end_lineno = 1
            part.col_offset = part.end_col_offset = 0
    return ast.fix_missing_locations(stripped)


class _Strip(ast.NodeTransformer):
    def __init__(self, names: Names) -> None:
        self._names = names
        self._in_class = False

    def _decorators(self, decorators: list[ast.expr]) -> list[ast.expr]:
        return [self.visit(item) for item in decorators if self._names.mark(item) is None]

    def _body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
            body = body[1:]
        visited = [kept for item in body if (kept := self.visit(item)) is not None]
        return visited or [ast.Pass()]

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
        outer, self._in_class = self._in_class, False
        node.decorator_list = self._decorators(node.decorator_list)
        node.returns = None
        arguments = node.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
            if argument is not None:
                argument.annotation = None
        arguments.defaults = [self.visit(item) for item in arguments.defaults]
        arguments.kw_defaults = [None if item is None else self.visit(item) for item in arguments.kw_defaults]
        node.body = self._body(node.body)
        self._in_class = outer
        return node

    visit_FunctionDef = _function  # noqa: N815 - the visitor's own spelling
    visit_AsyncFunctionDef = _function  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        outer, self._in_class = self._in_class, True
        node.decorator_list = self._decorators(node.decorator_list)
        node.bases = [self.visit(item) for item in node.bases]
        node.keywords = [self.visit(item) for item in node.keywords]
        node.body = self._body(node.body)
        self._in_class = outer
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
        if any(isinstance(target, ast.Name) and target.id in ("pytestmark", "__test__") for target in node.targets):
            return self._mark_list(node)
        self.generic_visit(node)
        return node

    def _mark_list(self, node: ast.Assign) -> ast.stmt | None:
        if isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__test__":
            return None
        marks = list(node.value.elts) if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
        kept = [self.visit(mark) for mark in marks if self._names.mark(mark) is None]
        if not kept:
            return None
        node.value = ast.List(elts=kept, ctx=ast.Load())
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | None:
        if self._in_class:  # an annotation makes a field there
            self.generic_visit(node)
            return node
        if node.value is None:
            return None
        return self.visit_Assign(ast.Assign(targets=[node.target], value=node.value))

    def visit_keyword(self, node: ast.keyword) -> ast.keyword | None:
        if node.arg == "marks":
            marks = list(node.value.elts) if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
            kept = [self.visit(mark) for mark in marks if self._names.mark(mark) is None]
            if not kept:
                return None
            if len(kept) < len(marks):
                node.value = ast.List(elts=kept, ctx=ast.Load())
                return node
        self.generic_visit(node)
        return node


def code_digest(statement: ast.stmt, *, future_annotations: bool) -> bytes:
    """SHA-256 of the compiled statement: code, constants with their types, names, nested code; no places."""
    flags = __future__.annotations.compiler_flag if future_annotations else 0
    module = ast.Module(body=[statement], type_ignores=[])
    code = compile(module, "<sealed>", "exec", flags=flags, dont_inherit=True, optimize=0)
    hasher = hashlib.sha256()
    for part in _code_parts(code):
        hasher.update(len(part).to_bytes(8, "big") + part)
    return hasher.digest()


def _code_parts(code: CodeType) -> Iterator[bytes]:
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_nlocals, code.co_flags)
    yield b"code" + repr(counts).encode()
    yield code.co_code
    yield getattr(code, "co_exceptiontable", b"")
    for names in ((code.co_name,), code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars):
        yield repr(len(names)).encode()
        yield from (name.encode("utf-8", "surrogatepass") for name in names)
    yield repr(len(code.co_consts)).encode()
    for constant in code.co_consts:
        yield from _constant_parts(constant)


def _constant_parts(value: object) -> Iterator[bytes]:
    if isinstance(value, CodeType):
        yield from _code_parts(value)
    elif isinstance(value, tuple):
        yield b"tuple" + str(len(value)).encode()
        for item in value:
            yield from _constant_parts(item)
    elif isinstance(value, frozenset):
        yield b"frozenset" + str(len(value)).encode()
        yield from sorted(b"\0".join(_constant_parts(item)) for item in value)
    else:
        yield type(value).__name__.encode()
        yield _scalar(value)


def _scalar(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return value
    if isinstance(value, int):  # decimal conversion has a limit of digits
        return hex(value).encode()
    return repr(value).encode()


def source_digest(statement: ast.stmt) -> bytes:
    """SHA-256 of the statement's syntax tree, written in a form that no CPython version changes."""
    hasher = hashlib.sha256()
    for part in _node_parts(statement):
        hasher.update(len(part).to_bytes(8, "big") + part)
    return hasher.digest()


def _node_parts(node: ast.AST) -> Iterator[bytes]:
    yield b"(" + type(node).__name__.encode()
    for name, value in ast.iter_fields(node):
        empty = value is None or value == []
        if name in _IGNORED_FIELDS or (empty and not isinstance(node, ast.Constant)):
            continue
        yield name.encode()
        if isinstance(value, ast.AST):
            yield from _node_parts(value)
        elif isinstance(value, list):
            yield b"["
            for item in value:
                if isinstance(item, ast.AST):
                    yield from _node_parts(item)
                else:
                    yield from _constant_parts(item)
            yield b"]"
        else:
            yield from _constant_parts(value)
    yield b")"


@lru_cache(maxsize=64)
def _compiled(source: bytes) -> CodeType | None:
    try:
        return compile(source, "<sealed>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None


def weak_digest(source: bytes, function: str) -> str:
    """The legacy digest: the first 16 hex digits of SHA-256 of ``co_code`` alone; "" where no such function is written."""
    code = _compiled(source)
    if code is None:
        return ""
    for part in function.split("."):
        inner = next((item for item in code.co_consts if isinstance(item, CodeType) and item.co_name == part), None)
        if inner is None:
            return ""
        code = inner
    return hashlib.sha256(code.co_code).hexdigest()[:16]
