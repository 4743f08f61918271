"""Sealed tests after the run: are they still what their source says?

The code of every test and of every function of a sealed module is compared with what it was right after the import, and with what its source
compiles to as pytest does it, constants included: bytecode that was kept from before the run (``kept``), else the source compiled once more, up to
a bounded size. Rewriting assertions is slow: which files are compiled anew when not all are is drawn by the job's nonce. The names of a module
are compared with what they were right after its import.
"""

import ast
import os
import random
import sys
import types

from . import kept

_parse, _compile, _vars = ast.parse, compile, vars
_BYTES = 60_000
_held = kept.store


class Tests:
    """The sealed modules of one run."""

    def __init__(self, state):
        self.state, self.job = state, state.job
        root = state.job.root
        self.files = {os.path.join(root, name): name for name in state.job.files if name.endswith(".py")}
        self.names, self.items, self.modules, self.kept = {}, [], {}, {}
        self.plain = _plain_rewriter()

    def imported(self):
        """Keep the names of sealed modules that are new."""
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and file in self.files and id(module) not in self.names:
                names = dict(_vars(module))
                self.names[id(module)] = names
                self.modules[id(module)] = (module, file)
                self.kept[id(module)] = [(label, function, function.__code__, _text(function.__code__)) for label, function in _functions(names, file)]
                loader = getattr(module, "__loader__", None)
                if self.state.place(loader) == "source":
                    self.state.sign("test", f"{self.files[file]} was loaded by production code", True)

    def collected(self, items):
        """Keep the tests, and what each of them runs."""
        self.imported()
        self.items = [(item, item.nodeid, getattr(item, "obj", None)) for item in items]

    def compare(self):
        """Say what differs."""
        if self.job.mode == "control":
            return
        modules, room = list(self.modules.values()), _BYTES
        random.Random(self.job.nonce).shuffle(modules)
        for module, file in modules:
            size = os.path.getsize(file) if os.path.exists(file) else 0
            store = _held()
            known = store is not None and store.knows(file)
            self._module(module, file, anew=known or size <= room)
            room -= 0 if known else min(size, room)
        for item, nodeid, _ in self.items:
            own = [name for name in ("runtest", "setup", "teardown", "_request", "repr_failure") if name in _vars(item) and callable(_vars(item)[name])]
            for name in own:
                if self.state.place(_vars(item)[name]) == "source":
                    self.state.sign("test", f"{name} of {nodeid} was replaced by production code", True)

    def _module(self, module, file, *, anew):
        short, state = self.files[file], self.state
        for label, function, code, text in self.kept[id(module)]:
            if function.__code__ is not code or _text(code) != text:
                state.sign("test", f"code of {label} in {short} is not what it was after import", True)
        codes = self._codes(file, module, anew)
        if codes is None:
            return
        before, now = self.names[id(module)], _vars(module)
        moving = codes["globals"]
        for name, value in before.items():
            if name.startswith(("__", "@")) or name in moving or now.get(name) is value:
                continue
            by = state.place(now.get(name)) if name in now else ""
            if by != "sealed":
                state.sign("test", f"{name} of {short} is not what it was after import", by in ("source", "made"))
        for label, function in _functions(now, file) if anew else ():
            known = codes["code"].get((function.__code__.co_name, function.__code__.co_firstlineno))
            if known is None or function.__code__ not in known:
                state.sign("test", f"code of {label} in {short} is not what its source says", True)
        for label in sorted(codes["tests"] & set(now)):
            if state.place(now[label]) == "source" and state.place(before.get(label)) != "source":
                state.sign("test", f"{label} of {short} was replaced by production code", True)

    def _codes(self, file, module, anew):
        """All code of a file as compiled anew: (name, first line) → code; names that the file itself rebinds; functions of the module."""
        try:
            with open(file, "rb") as stream:
                source = stream.read()
            store, rewritten = _held(), "@pytest_ar" in _vars(module)
            code = store.code(source, file, True) if store is not None and rewritten else None
            if code is None:
                tree = _parse(source, filename=file)
                moving, tests = kept.facts_of(tree)
                if not anew:
                    return {"code": {}, "globals": moving, "tests": tests}
                if rewritten:
                    self.plain(tree, source, file, self.state.guard.config)
                code = _compile(tree, file, "exec", dont_inherit=True)
            else:
                moving, tests = store.facts_of(source)
        except (OSError, SyntaxError, ValueError):
            return None
        found, todo = {}, [code]
        while todo:
            one = todo.pop()
            found.setdefault((one.co_name, one.co_firstlineno), []).append(one)
            todo += [const for const in one.co_consts if isinstance(const, types.CodeType)]
        return {"code": found, "globals": moving, "tests": tests}


def _text(code):
    """Instructions and constants of a code object as a number that changes with them, nested code included."""
    consts = [_text(const) if isinstance(const, types.CodeType) else repr(const) for const in code.co_consts if not isinstance(const, frozenset)]
    return hash((code.co_code, tuple(consts), code.co_names))


def _functions(names, file):
    """Yield (label, function) of a module's own functions and methods, and of the tests behind decorators."""
    seen, todo = set(), [(name, value, 0) for name, value in list(names.items())]
    while todo:
        label, value, depth = todo.pop()
        if id(value) in seen or depth > 4:
            continue
        seen.add(id(value))
        if isinstance(value, (classmethod, staticmethod)):
            value = value.__func__
        if isinstance(value, types.FunctionType):
            handle = _vars(value).get("hypothesis")
            made = handle is not None and str(value.__globals__.get("__name__")).startswith("hypothesis_temporary_module")
            if value.__code__.co_filename == file and not made:
                yield label, value
            todo += [(label, inner, depth + 1) for inner in (_vars(value).get("__wrapped__"), getattr(handle, "inner_test", None)) if inner]
        elif isinstance(value, type):
            if value.__module__ == names.get("__name__"):
                todo += [(f"{label}.{name}", item, depth + 1) for name, item in list(_vars(value).items())]
        else:
            inner = getattr(value, "__dict__", {}).get("_fixture_function")
            if isinstance(inner, types.FunctionType):
                todo.append((label, inner, depth + 1))


def _plain_rewriter():
    from _pytest.assertion import rewrite

    return rewrite.rewrite_asserts
