"""Kept bytecode: what compiling a file gives, made by the server before any code of the scoring tree runs, and served to each job.

A file is known by the digest of its bytes: what a job imports is looked up by the bytes that lie there, so that nothing old or foreign is ever
served. Test modules are kept as pytest rewrites them, all others plain.
"""

import _imp
import ast
import hashlib
import importlib.machinery
import marshal
import os
import sys

_loads, _sha256, _fix, _join = marshal.loads, hashlib.sha256, _imp._fix_co_filename, os.path.join


class Store:
    """Digest → bytecode, as bytes."""

    def __init__(self):
        self.plain, self.rewritten, self.facts = {}, {}, {}

    def fill(self, files, shelf):
        """Take what another server has left on the shelf (a descriptor, closed here); where nothing whole lies there, compile and leave it."""
        with os.fdopen(shelf, "r+b") as stream:
            stream.seek(0)
            try:
                rows = marshal.load(stream)
            except (EOFError, ValueError, TypeError):
                rows = made(files)
                stream.seek(0)
                marshal.dump(rows, stream)
        self.take(rows)

    def take(self, rows):
        """Add rows of ``compiled``."""
        for digest, rewritten, code, facts in rows:
            (self.rewritten if rewritten else self.plain)[digest] = code
            if facts is not None:
                self.facts[digest] = facts

    def code(self, source, path, rewritten):
        """The code of a file with these bytes at this path, or None."""
        data = (self.rewritten if rewritten else self.plain).get(_sha256(source).digest())
        if data is None:
            return None
        code = _loads(data)
        _fix(code, path)
        return code

    def knows(self, path):
        """Whether the code of a file is kept as the runner rewrites it."""
        try:
            with open(path, "rb") as stream:
                return _sha256(stream.read()).digest() in self.rewritten
        except OSError:
            return False

    def facts_of(self, source):
        """See ``facts_of``."""
        return self.facts[_sha256(source).digest()]

    def serve(self, root):
        """From now on, modules below ``root`` are loaded with their kept code."""
        _held["store"] = self
        sys.path_hooks.insert(0, _hook(self, root))
        from _pytest.assertion import rewrite

        plain, real = rewrite._rewrite_test, rewrite.ast

        def _rewrite_test(fn, config):
            if rewrite.ast is real and "compile" not in vars(rewrite) and not _unusual(config):
                with open(fn, "rb") as stream:
                    source = stream.read()
                code = self.code(source, str(fn), True)
                if code is not None:
                    return os.stat(fn), code
            return plain(fn, config)

        rewrite._rewrite_test = _rewrite_test


WORTH_B = 60_000
"""Bytes of source from which on a second process helps."""
_held = {"store": None}


def store():
    """The store of this job, or None."""
    return _held["store"]


MOST_B = 3_000_000
"""Bytes of source beyond which no module of the source is compiled ahead: few of them would be used."""


def made(files):
    """Compile ``files``: rows of (path, kind). Two processes share the work where that pays."""
    sizes = sorted(((os.path.getsize(path), path, kind) for path, kind in files if os.path.isfile(path)), reverse=True)
    if sum(size for size, _, kind in sizes if kind == "source") > MOST_B:
        sizes = [row for row in sizes if row[2] != "source"]
    halves, spent = ([], []), [0, 0]
    for size, path, kind in sizes:
        lighter = spent.index(min(spent))
        halves[lighter].append((path, kind == "test"))
        spent[lighter] += size * (2 if kind == "test" else 1)
    if min(spent) < WORTH_B or (os.cpu_count() or 1) < 2:
        return compiled(halves[0] + halves[1])
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            with os.fdopen(writer, "wb") as stream:
                marshal.dump(compiled(halves[1]), stream)
        finally:
            os._exit(0)
    os.close(writer)
    own = compiled(halves[0])
    with os.fdopen(reader, "rb") as stream:
        data = stream.read()
    os.waitpid(pid, 0)
    try:
        return own + marshal.loads(data)
    except (EOFError, ValueError, TypeError):
        return own


def _unusual(config):
    try:
        return bool(config.getini("enable_assertion_pass_hook"))
    except (AttributeError, KeyError, ValueError):
        return False


def compiled(rows):
    """Compile; what does not compile is left out: the run will say so itself."""
    from _pytest.assertion import rewrite

    found = []
    for path, rewritten in rows:
        try:
            with open(path, "rb") as stream:
                source = stream.read()
            facts, tree = None, source
            if rewritten:
                tree = ast.parse(source, filename=path)
                facts = facts_of(tree)
                rewrite.rewrite_asserts(tree, source, path, None)
            code = compile(tree, path, "exec", dont_inherit=True)
            found.append((_sha256(source).digest(), rewritten, marshal.dumps(code), facts))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return found


def facts_of(tree):
    """Names that a file rebinds by ``global``, and the functions and classes at its top."""
    moving = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    tests = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    return (moving, tests)


def _hook(store, root):
    below = root.rstrip(os.sep) + os.sep

    class SourceFileLoader(importlib.machinery.SourceFileLoader):
        """The loader of source files, with kept bytecode."""

        def get_code(self, fullname):
            path = self.get_filename(fullname)
            code = store.code(self.get_data(path), path, False)
            return super().get_code(fullname) if code is None else code

    plain = importlib.machinery.SourceFileLoader
    SourceFileLoader.__module__, SourceFileLoader.__qualname__ = plain.__module__, plain.__qualname__
    details = (
        (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
        (SourceFileLoader, importlib.machinery.SOURCE_SUFFIXES),
        (importlib.machinery.SourcelessFileLoader, importlib.machinery.BYTECODE_SUFFIXES),
    )
    make = importlib.machinery.FileFinder.path_hook(*details)

    def path_hook_for_FileFinder(path):
        if not (path + os.sep).startswith(below):
            raise ImportError("not below the tree")
        return make(path)

    return path_hook_for_FileFinder
