"""Code in plain form, and its digests.

Dropped: docstrings, annotations of functions and locals, skip and xfail marks, places. Kept: everything that changes behaviour. Two
digests are made of it: of the compiled code (constants, names and nested code included; it changes with the interpreter) and of the
syntax tree (the same for every CPython).
"""

from __future__ import annotations
import __future__

import ast
import hashlib
import marshal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any, Final, TypeVar

from trivet.sealed.marks import Names

_Node = TypeVar("_Node", bound=ast.AST)
_IGNORED_FIELDS: Final = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


@dataclass(frozen=True, slots=True)
class Plain:
    """A statement in plain form, the names it loads, each with the attribute asked of it ("" = itself), and what it asks of pytest.

    ``fixtures``: arguments without a default of its functions, and names given to ``usefixtures`` and ``getfixturevalue``.
    """

    statement: ast.stmt
    used: tuple[tuple[str, str], ...]
    fixtures: tuple[str, ...]


Memo = dict[int, Plain]
"""Members of classes in plain form, by the identity of their node: each test of a class is taken with all that are no tests."""


def plain(node: ast.stmt, names: Names, memo: Memo | None = None) -> Plain | None:
    """A copy of a statement in plain form, made in one pass; None where nothing is left of it."""
    copier = _Copier(names, {} if memo is None else memo)
    made = copier.visit(node)
    if made is _GONE:
        return None
    assert isinstance(made, ast.stmt)  # noqa: S101 - a statement stays a statement
    return Plain(made, tuple(copier.used), tuple(copier.fixtures))


_GONE = ast.Pass()
"""Stands for what is left out."""
_PLACE: Final = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}
_ASKS: Final = frozenset({"usefixtures", "getfixturevalue"})


def _empty(node: _Node) -> _Node:
    """A node of the same kind without fields; the constructor would warn of those that are missing."""
    return node.__class__.__new__(node.__class__)


def _placed(node: _Node) -> _Node:
    node.__dict__.update(_PLACE)
    return node


class _Copier:
    """Copies a tree without what is no code, and notes on the way what it uses."""

    def __init__(self, names: Names, memo: Memo) -> None:
        self._names, self._memo, self._in_class = names, memo, False
        self.used: dict[tuple[str, str], None] = {}
        self.fixtures: dict[str, None] = {}
        self._special: dict[type, Callable[[Any], ast.AST]] = {
            ast.FunctionDef: self._function, ast.AsyncFunctionDef: self._function, ast.ClassDef: self._class, ast.Assign: self._assign,
            ast.AnnAssign: self._annotated, ast.keyword: self._keyword, ast.Name: self._name, ast.Attribute: self._attribute,
            ast.Call: self._call,
        }  # fmt: skip

    def visit(self, node: ast.AST) -> ast.AST:
        """The copy of a node, or ``_GONE``."""
        special = self._special.get(node.__class__)
        return self._copy(node) if special is None else special(node)

    def _copy(self, node: ast.AST) -> ast.AST:
        fields = node.__dict__
        if not fields:  # operators and contexts have no parts
            return node
        made = _empty(node)
        kept = made.__dict__
        special = self._special
        for name in node._fields:
            value = fields.get(name)
            if isinstance(value, ast.AST):
                found = special.get(value.__class__)
                kept[name] = self._copy(value) if found is None else found(value)
            elif value.__class__ is list:
                kept[name] = self._all(value)
            else:
                kept[name] = value
        if "lineno" in fields:
            kept.update(_PLACE)
        return made

    def _all(self, items: list[Any]) -> list[Any]:
        found = []
        for item in items:
            made = self.visit(item) if isinstance(item, ast.AST) else item
            if made is not _GONE:
                found.append(made)
        return found

    def _name(self, node: ast.Name) -> ast.AST:
        if node.ctx.__class__ is ast.Load:
            self.used[node.id, ""] = None
        made = ast.Name(id=node.id, ctx=node.ctx)
        made.__dict__.update(_PLACE)
        return made

    def _attribute(self, node: ast.Attribute) -> ast.AST:
        value = node.value
        if value.__class__ is ast.Name:
            assert isinstance(value, ast.Name)  # noqa: S101 - for the type checker
            self.used[value.id, node.attr] = None
            inner: Any = _placed(ast.Name(id=value.id, ctx=value.ctx))
        else:
            inner = self.visit(value)
        made = ast.Attribute(value=inner, attr=node.attr, ctx=node.ctx)
        made.__dict__.update(_PLACE)
        return made

    def _call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute) and node.func.attr in _ASKS:
            texts = (item.value for item in node.args if isinstance(item, ast.Constant))
            self.fixtures.update(dict.fromkeys(text for text in texts if isinstance(text, str)))
        return self._copy(node)

    def _marks(self, items: list[ast.expr]) -> list[Any]:
        return self._all([item for item in items if self._names.mark(item) is None])

    def _body(self, body: list[ast.stmt]) -> list[Any]:
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
            body = body[1:]
        return self._all(body) or [_placed(ast.Pass())]

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        if not self._in_class:
            return self._new_function(node)
        known = self._memo.get(id(node))
        if known is None:
            used, fixtures = self.used, self.fixtures
            self.used, self.fixtures = {}, {}
            made = self._new_function(node)
            assert isinstance(made, ast.stmt)  # noqa: S101 - a function
            known = self._memo[id(node)] = Plain(made, tuple(self.used), tuple(self.fixtures))
            self.used, self.fixtures = used, fixtures
        self.used.update(dict.fromkeys(known.used))
        self.fixtures.update(dict.fromkeys(known.fixtures))
        return known.statement

    def _new_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        outer, self._in_class = self._in_class, False
        made = _empty(node)
        made.__dict__.update({name: node.__dict__[name] for name in node._fields if name in node.__dict__}, **_PLACE)
        made.decorator_list = self._marks(node.decorator_list)
        made.returns = None
        made.args = self._arguments(node.args)
        if "type_params" in made.__dict__:
            made.__dict__["type_params"] = self._all(made.__dict__["type_params"])
        made.body = self._body(node.body)
        self._in_class = outer
        return made

    def _arguments(self, given: ast.arguments) -> ast.arguments:
        wanted = [*given.posonlyargs, *given.args]
        wanted = wanted[: len(wanted) - len(given.defaults)] if given.defaults else wanted
        self.fixtures.update(dict.fromkeys(argument.arg for argument in (*wanted, *given.kwonlyargs)))
        return ast.arguments(
            posonlyargs=[_bare(argument) for argument in given.posonlyargs],
            args=[_bare(argument) for argument in given.args],
            vararg=given.vararg and _bare(given.vararg),
            kwonlyargs=[_bare(argument) for argument in given.kwonlyargs],
            kw_defaults=self._all(given.kw_defaults),
            kwarg=given.kwarg and _bare(given.kwarg),
            defaults=self._all(given.defaults),
        )

    def _class(self, node: ast.ClassDef) -> ast.AST:
        outer, self._in_class = self._in_class, True
        made = _empty(node)
        made.__dict__.update({name: node.__dict__[name] for name in node._fields if name in node.__dict__}, **_PLACE)
        made.decorator_list = self._marks(node.decorator_list)
        made.bases = self._all(node.bases)
        made.keywords = self._all(node.keywords)
        if "type_params" in made.__dict__:
            made.__dict__["type_params"] = self._all(made.__dict__["type_params"])
        made.body = self._body(node.body)
        self._in_class = outer
        return made

    def _assign(self, node: ast.Assign) -> ast.AST:
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        if "pytestmark" not in names and "__test__" not in names:
            return self._copy(node)
        if names[:1] == ["__test__"]:
            return _GONE
        marks = self._marks(_listed(node.value))
        if not marks:
            return _GONE
        targets = self._all(node.targets)
        return _placed(ast.Assign(targets=targets, value=_placed(ast.List(elts=marks, ctx=ast.Load()))))

    def _annotated(self, node: ast.AnnAssign) -> ast.AST:
        if self._in_class:  # an annotation makes a field there
            return self._copy(node)
        if node.value is None:
            return _GONE
        return self._assign(_placed(ast.Assign(targets=[node.target], value=node.value)))

    def _keyword(self, node: ast.keyword) -> ast.AST:
        if node.arg != "marks":
            return self._copy(node)
        marks = _listed(node.value)
        kept = [mark for mark in marks if self._names.mark(mark) is None]
        if len(kept) == len(marks) and kept:
            return self._copy(node)
        if not kept:
            return _GONE
        return _placed(ast.keyword(arg=node.arg, value=_placed(ast.List(elts=self._all(kept), ctx=ast.Load()))))


def _bare(argument: ast.arg) -> ast.arg:
    return _placed(ast.arg(arg=argument.arg, annotation=None))


def _listed(value: ast.expr) -> list[ast.expr]:
    return list(value.elts) if isinstance(value, ast.List | ast.Tuple) else [value]


def code_digest(statement: ast.stmt, *, future_annotations: bool) -> bytes:
    """SHA-256 of the compiled statement: code, constants with their types, names, nested code; every place in it is the same.

    The second form of ``marshal`` has no references, so that equal code has equal bytes; sets are written in a fixed order.
    """
    flags = __future__.annotations.compiler_flag if future_annotations else 0
    module = ast.Module(body=[statement], type_ignores=[])
    code = compile(module, "<sealed>", "exec", flags=flags, dont_inherit=True, optimize=0)
    return hashlib.sha256(marshal.dumps(code, 2)).digest()


def _constant_parts(value: object) -> Iterator[bytes]:
    if isinstance(value, tuple):
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
