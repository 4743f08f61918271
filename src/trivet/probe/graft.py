"""Compile only what is altered of a file, and put it into the code that was kept of the whole.

Rewriting assertions and compiling a file costs ten times what one function of it does. So of an altered tree only the functions that hold an
alteration are compiled, each inside of its classes and beside the imports of the file, and take the place of their originals among
the constants of the kept code. What is no plain function of the module or of a class in it cannot be taken out so: then the file is compiled.
"""

import ast
import types

_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def pruned(tree, lines):
    """A tree that holds, of the module, the functions in which these lines lie; None where a line lies elsewhere."""
    left = set(lines)
    body = _kept(tree.body, left)
    if left or not body:
        return None
    return ast.Module(body=_head(tree.body) + body, type_ignores=[])


def _head(body):
    """The docstring and the imports of a module: the compiler makes other calls of what is imported."""
    text = body[:1] if body and isinstance(body[0], ast.Expr) and isinstance(getattr(body[0], "value", None), ast.Constant) else []
    return text + list(_imports(body))


def _imports(body):
    for stmt in body:
        if isinstance(stmt, (ast.Import, ast.ImportFrom)):
            yield stmt
        elif not isinstance(stmt, (*_FUNCTION, ast.ClassDef)):
            for name in ("body", "handlers", "orelse", "finalbody"):
                yield from _imports(getattr(stmt, name, ()))


def _kept(body, left):
    found = []
    for stmt in body:
        inside = {line for line in left if stmt.lineno <= line <= stmt.end_lineno}
        if not inside:
            continue
        if isinstance(stmt, _FUNCTION):
            left -= inside
            found.append(stmt)
        elif isinstance(stmt, ast.ClassDef):
            inner = _kept(stmt.body, left)
            if inner:
                copy = ast.ClassDef(**{name: getattr(stmt, name) for name in stmt._fields})
                copy.body = inner
                found.append(ast.copy_location(copy, stmt))
    return found


def grafted(whole, part):
    """The code of the module ``whole`` with the functions of ``part`` (the code of a pruned tree); None where they do not fit."""
    rows = _inner(part)
    if not rows:
        return None
    consts = list(whole.co_consts)
    for key, own in rows.items():
        places = [at for at, const in enumerate(consts) if isinstance(const, types.CodeType) and _key(const) == key]
        if len(places) != 1:
            return None
        there = consts[places[0]]
        new = own if _is_function(own) else grafted(there, own)
        if new is None or new.co_freevars != there.co_freevars or _is_function(there) != _is_function(own):
            return None
        consts[places[0]] = new
    return whole.replace(co_consts=tuple(consts))


def _inner(code):
    """The functions and classes right below a module or a class, but not what their decorators and defaults are made of."""
    return {_key(const): const for const in code.co_consts if isinstance(const, types.CodeType) and not const.co_name.startswith("<")}


def _key(code):
    return (code.co_name, code.co_firstlineno)


def _is_function(code):
    """Whether code is a function's: a class body is not optimized."""
    return bool(code.co_flags & 1)
