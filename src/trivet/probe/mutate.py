"""Negative controls: altered copies of sealed tests, served in place of the originals in a process of their own.

``install`` puts a finder in front of pytest's assertion rewriting. For a sealed file with a control it lets the real loader do its whole
work, and only exchanges the syntax tree right after it was parsed and the constants right after it was compiled: names, ids, files, line
numbers and every step that code under test may have tampered with stay those of an ordinary run. Whether the altered test failed where it must is
judged by the host, from the records of the run and from the ``control`` records written here when an altered assertion is evaluated.

A control is ``{"id", "kind", "line"}`` and, where the assertion lies in another sealed file, ``"file"`` (relative to the root).
"""

import ast
import builtins
import importlib.machinery
import os
import sys
import threading

import pytest
from _pytest.assertion.rewrite import rewrite_asserts as _rewrite

from . import graft, kept, mutate_sites, mutate_values

_EXAMPLES = 10
"""Examples that an altered hypothesis test may try until it fails; it stops at the first failure and does not shrink."""

_compile, _realpath, _join, _parse = compile, os.path.realpath, os.path.join, ast.parse


def install(job, emit):
    """Serve altered copies of the sealed modules that ``job.controls`` names, from now on; returns a plugin for the run."""
    controls = {}
    given = {control["id"]: control for control in job.controls if control["kind"].startswith(mutate_sites.GIVEN)}
    for control in job.controls:
        if control["id"] in given:
            continue
        file = control.get("file") or control["id"].split("::")[0]
        controls.setdefault(_realpath(_join(job.root, file)), {}).setdefault((control["line"], control["kind"]), (control, file))
    ids = {control["id"].split("[")[0] for control in job.controls}
    turn = _Turn()
    finder = Finder({path: _Copy(path, list(rows.values()), ids, emit, turn) for path, rows in controls.items()})
    sys.meta_path.insert(0, finder)
    _stay_in_front(finder)
    return Brief(emit, given, turn)


class _Turn:
    """Whose turn it is: the id of the test that runs, and the alterations that were reached in it."""

    def __init__(self):
        self.test = ""
        self.reached = set()


class Brief:
    """Nobody reads how an altered test failed, only where: leave out what makes failures slow, and end the process after the last test."""

    def __init__(self, emit, given, turn):
        from _pytest.assertion import util

        self._emit, self._util, self._given, self._turn = emit, util, given, turn

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid):
        """Parameter sets share a function: which of them reached an alteration is told apart."""
        self._turn.test = nodeid
        self._turn.reached.clear()

    def pytest_configure(self, config):
        """No source text in failures."""
        config.option.tbstyle = "no"

    def pytest_collection_finish(self, session):
        """Alter the parameters that a control names, in place of an assertion."""
        for item in session.items:
            control = self._given.get(item.nodeid)
            if control is not None:
                self._alter_given(item, control)

    def _alter_given(self, item, control):
        name, file = control["kind"][len(mutate_sites.GIVEN):], item.nodeid.split("::")[0]
        params = getattr(getattr(item, "callspec", None), "params", {})
        state, told = "absent", []
        if name in params:
            params[name] = mutate_values.Alter(told.append).slight(params[name])
            state = "reached"
        self._emit(
            "control", id=control["id"], file=file, line=control["line"], kind=control["kind"], state=state,
            altered=f"parameter {name}: {told[0]}"[:300] if told else "",
        )

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session):
        """No differences of long values; after the last test nothing more is awaited."""
        import unittest.case

        plain, unittest.case.difflib = unittest.case.difflib, _NoDifference
        yield
        unittest.case.difflib = plain
        self._emit.close()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item):
        """No explanation of what differs."""
        plain, self._util._reprcompare = getattr(self._util, "_reprcompare", None), None
        yield
        self._util._reprcompare = plain


class _NoDifference:
    """``difflib`` as ``unittest`` uses it; the real one takes minutes for long lists."""

    @staticmethod
    def ndiff(left, right):
        """No lines."""
        return []

    @staticmethod
    def unified_diff(left, right, *args, **options):
        """No lines."""
        return []


def _stay_in_front(finder):
    """Pytest puts its own hook first when it is configured; step in front of it then, and leave no wrapper behind."""
    from _pytest import assertion

    plain = assertion.install_importhook

    def install_importhook(config):
        assertion.install_importhook = plain
        hook = plain(config)
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
        sys.meta_path.insert(0, finder)
        return hook

    assertion.install_importhook = install_importhook


class Finder:
    """Finds what the finders behind it find; files with a control get a loader of ours around theirs."""

    def __init__(self, copies):
        self._copies = copies
        self._names = {os.path.basename(path)[:-3] for path in copies} | {os.path.basename(os.path.dirname(path)) for path in copies}

    def find_spec(self, name, path=None, target=None):
        """Find one module."""
        if name.rpartition(".")[2] not in self._names:
            return None
        behind = False
        for finder in list(sys.meta_path):
            if finder is self:
                behind = True
                continue
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if behind and find is not None else None
            if spec is not None:
                copy = self._copies.get(_realpath(spec.origin)) if spec.origin else None
                if copy is not None and spec.loader is not None:
                    spec.loader = Loader(spec.loader, copy)
                return spec
        return None


class Loader:
    """Lets the real loader load, with the altered tree; afterwards the module knows only the real loader."""

    def __init__(self, plain, copy):
        self._plain, self._copy = plain, copy

    def create_module(self, spec):
        """As the real loader does."""
        return self._plain.create_module(spec)

    def exec_module(self, module):
        """Run the altered copy."""
        module.__loader__ = module.__spec__.loader = self._plain
        if isinstance(self._plain, importlib.machinery.SourceFileLoader):
            source, path = self._plain.get_data(module.__spec__.origin), module.__spec__.origin
            tree = self._copy.parse(source, path, rewritten=False)
            exec(self._copy.finish(_compile(tree, path, "exec", dont_inherit=True), path), module.__dict__)
        else:
            with _Rewriting(self._copy):
                self._plain.exec_module(module)
        self._copy.settle(vars(module))

    def __getattr__(self, name):
        return getattr(self._plain, name)


class _Rewriting:
    """While pytest rewrites one module: its ``ast.parse`` and ``compile`` are ours for one call each, of this thread and this file."""

    def __init__(self, copy):
        from _pytest.assertion import rewrite

        self._rewrite, self._copy, self._ast, self._thread = rewrite, copy, rewrite.ast, threading.get_ident()

    def __enter__(self):
        rewrite, copy, plain, shim = self._rewrite, self._copy, self._ast, _Shim(self._ast)

        def parse(source, filename="<unknown>", *args, **kwargs):
            rewrite.ast = plain
            if _realpath(filename) != copy.path:
                return plain.parse(source, filename, *args, **kwargs)
            rewrite.compile = compile
            return copy.parse(source, filename, rewritten=True)

        def compile(tree, filename, *args, **kwargs):
            rewrite.__dict__.pop("compile", None)
            code = builtins.compile(tree, filename, *args, **kwargs)
            return copy.finish(code, filename) if _realpath(filename) == copy.path else code

        shim.parse = parse
        rewrite.ast = shim

    def __exit__(self, *exc):
        self._rewrite.ast = self._ast
        self._rewrite.__dict__.pop("compile", None)


class _Shim:
    """The ``ast`` module, but for what is set on it."""

    def __init__(self, plain):
        self._plain = plain

    def __getattr__(self, name):
        return getattr(self._plain, name)


class _Copy:
    """The altered copy of one file."""

    def __init__(self, path, rows, ids, emit, turn):
        self.path, self._rows, self._ids, self._emit, self._turn = path, rows, ids, emit, turn
        self._functions = {tuple(name.split("::")[1:]) for name in ids}
        self.objects = {}
        self._whole = self._tree = None
        self._rewritten = False

    def parse(self, source, filename, *, rewritten):
        """Parse the source and alter it; a control for which nothing can be altered is told of, and stays without effect.

        Where the code of the file was kept (as ``rewritten`` by the runner, or plain) the tree holds only the functions that are altered.
        """
        tree = _parse(source, filename=filename)
        altering, lines = mutate_sites.Altering(tree), set()
        for number, (control, file) in enumerate(self._rows):
            mark = f"{mutate_sites.MARK}{number}"
            if altering.alter(control["line"], control["kind"], mark):
                self.objects[mark] = mutate_values.Alter(self._teller(control, file))
                lines.add(control["line"])
            else:
                self._tell(control, file, "absent")
        store = kept.store()
        self._whole = store.code(source, filename, rewritten) if store is not None and lines else None
        part = graft.pruned(tree, lines) if self._whole is not None else None
        if part is None:
            self._whole = None
            return tree
        self._tree, self._source, self._rewritten = tree, source, rewritten
        return part

    def finish(self, code, filename):
        """The code of the whole file with our objects among the constants, from the code of what ``parse`` gave."""
        if self._whole is None:
            return mutate_sites.plant(code, self.objects)
        whole = graft.grafted(self._whole, mutate_sites.plant(code, self.objects))
        if whole is not None:
            return whole
        if self._rewritten:  # what was rewritten already is no assertion any more
            _rewrite(self._tree, self._source, filename, None)
        return mutate_sites.plant(_compile(self._tree, filename, "exec", dont_inherit=True), self.objects)

    def _teller(self, control, file):
        turn, key = self._turn, (file, control["line"], control["kind"])

        def tell(text):
            if key not in turn.reached:
                turn.reached.add(key)
                self._tell(control, file, "reached", altered=text[:300], test=turn.test)

        return tell

    def _tell(self, control, file, state, **more):
        self._emit("control", id=control["id"], file=file, line=control["line"], kind=control["kind"], state=state, **more)

    def settle(self, names):
        """Let the hypothesis tests among the altered ones stop at their first failure."""
        if "hypothesis" not in sys.modules:
            return
        for parts in self._functions:
            owner = names
            for part in parts[:-1]:
                owner = vars(owner.get(part, _Copy))
            test = owner.get(parts[-1]) if parts else None
            if getattr(test, "is_hypothesis_test", False):
                _few_examples(test)


def _few_examples(test):
    import hypothesis

    plain = getattr(test, "_hypothesis_internal_use_settings", None) or hypothesis.settings.default
    try:
        test._hypothesis_internal_use_settings = hypothesis.settings(
            plain, max_examples=min(_EXAMPLES, plain.max_examples), phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
            database=None, deadline=None, derandomize=True, report_multiple_bugs=False, suppress_health_check=list(hypothesis.HealthCheck),
        )
    except Exception:
        return
