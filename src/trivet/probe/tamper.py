"""Traces of tampering: what the runner, the tests and the standard library were before production code was loaded, and what they are after.

``before`` takes an identity map of vital modules (names, class attributes, code, defaults) and digests of the runner's code; ``Guard`` is a
plugin that looks at a small part of it after each test and at plugins as they are registered; ``after`` compares. A sign is blocking where no
honest reading exists: production code replaced a function of the runner, of ``unittest``, ``hypothesis``, ``builtins`` or of the standard
library and left it so, or sealed tests are not what their source says. Everything else is evidence. The texts of signs name no
addresses, so that signs which base's own run shows too can be told apart from new ones.
"""

import gc
import importlib
import os
import re
import sys
import types

from . import tamper_audit, tamper_tests
from .origin import Places

RUNNER = ("pytest", "_pytest", "pluggy", "hypothesis", "unittest")
"""Packages of which every function counts, whoever replaced it."""

CORE = (
    "builtins", "math", "operator", "random", "json", "json.decoder", "json.encoder", "decimal", "fractions", "datetime", "functools", "itertools",
    "collections", "statistics", "cmath", "numbers", "copy", "string", "re", "hashlib", "enum", "dataclasses", "contextlib", "unittest.mock",
)
"""Modules of the standard library whose functions decide what a test compares; replacing them blocks whatever stands in their place."""

WIDE = ("os", "os.path", "io", "time", "pathlib", "tempfile", "subprocess", "shutil", "inspect", "traceback", "warnings", "importlib", "csv", "types", "sys")
"""Modules whose functions are replaced for honest reasons too: only production code in their place blocks."""

HOOKS = frozenset(("sys.displayhook", "sys.excepthook", "sys.unraisablehook", "sys.breakpointhook", "warnings.showwarning", "warnings.formatwarning"))
"""What the standard library offers for replacement; no outcome passes through it."""

TYPES = (object, type, int, float, complex, bool, str, bytes, list, tuple, dict, set, frozenset, BaseException, AssertionError, type(None))

_SKIPPED = {"__builtins__", "__warningregistry__", "__annotations__", "__annotate__", "__annotate_func__", "__doc__", "__dict__", "__weakref__", "__cached__"}
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, type, classmethod, staticmethod, property, types.MethodType, types.WrapperDescriptorType,
              types.MethodDescriptorType, types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType)
_NOT_EAGER = {"antigravity", "this", "idlelib", "turtle", "tkinter", "__main__", "__future__", "test", "lib2to3", "turtledemo"}
_MOST = 40
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep

_vars, _id, _gettrace, _getprofile = vars, id, sys.gettrace, sys.getprofile


class Space:
    """One namespace (a module or a class) and what was in it."""

    __slots__ = ("group", "items", "label", "names", "owner")

    def __init__(self, owner, label, group):
        self.owner, self.label, self.group = owner, label, group
        self.names = _vars(owner)
        # A private name of a wider module is state that its own public functions set (``logging.setLoggerClass``).
        private = group == "wide" and isinstance(owner, types.ModuleType)
        self.items = [
            (name, value)
            for name, value in self.names.items()
            if name not in _SKIPPED and isinstance(value, _FUNCTIONS) and not (private and name.startswith("_"))
        ]


class State:
    """What ``before`` saw."""

    def __init__(self, job, emit):
        self.job, self.emit, self.places = job, emit, Places(job)
        self.spaces, self.seen, self.functions, self.modules = [], set(), [], {}
        self.said, self.count = set(), 0
        self.vital = []
        self.guard = Guard(self)
        self.audit = tamper_audit.install(self)

    # --- taking

    def take(self, name, group):
        """Add a module, and the classes that are defined in it, to the map."""
        module = sys.modules.get(name)
        if not isinstance(module, types.ModuleType) or name in self.modules:
            return
        self.modules[name] = module
        self._take(module, name, group)
        for value in list(_vars(module).values()):
            if isinstance(value, type) and value.__module__ == name and _id(value) not in self.seen:
                self._take(value, f"{name}.{value.__qualname__}", group)

    def _take(self, owner, label, group):
        self.seen.add(_id(owner))
        space = Space(owner, label, group)
        self.spaces.append(space)
        for name, value in space.items:
            function = plain_function(value)
            if function is not None and _id(function) not in self.seen:
                self.seen.add(_id(function))
                self.functions.append((function, f"{label}.{name}", function.__code__, function.__defaults__, function.__kwdefaults__, group))

    def digest(self):
        """Bytes and constants of the runner's own code, to see changes in place; taken for what decides an outcome."""
        names = ("_pytest.runner.", "_pytest.reports.", "_pytest.python.", "_pytest.unittest.", "_pytest.outcomes.", "_pytest.raises.", "_pytest.main.",
                 "unittest.case.", "pluggy._callers.", "pluggy._hooks.", "_pytest.python_api.")
        self.digests = [(label, code, _code_text(code)) for _, label, code, _, _, _ in self.functions if label.startswith(names)]

    # --- saying

    def sign(self, kind, detail, blocking):
        """Emit a sign once; a bounded number of them."""
        if (kind, detail) in self.said or (self.count >= _MOST and not blocking) or self.count >= 2 * _MOST:
            return
        self.said.add((kind, detail))
        self.count += 1
        self.emit("sign", kind=kind, detail=detail[:600], blocking=blocking)

    def place(self, value):
        """Who made a value: ``source``, ``sealed``, ``library``, ``made`` or "" (nobody can tell)."""
        return place_of(value, self.places)

    # --- comparing

    def compare(self):
        """Look at the whole map once more."""
        for space in self.spaces:
            names = space.names
            for name, value in space.items:
                if names.get(name) is not value:
                    self._changed(space, name, names.get(name))
            if len(names) > len(space.items) and space.group in ("runner", "core") and isinstance(space.owner, type):
                known = {name for name, _ in space.items}
                for name in [name for name in names if name not in known]:
                    if isinstance(names[name], _FUNCTIONS) and self.place(names[name]) == "source":
                        self.sign("patched", f"{space.label}.{name} was added by production code", True)
        for function, label, code, defaults, kwdefaults, group in self.functions:
            if function.__code__ is not code:
                self._recoded(label, function, group)
            elif function.__defaults__ is not defaults or function.__kwdefaults__ is not kwdefaults:
                self.sign("patched", f"defaults of {label} were replaced", group != "wide")
        for label, code, text in self.digests:
            if _code_text(code) != text:
                self.sign("memory", f"code of {label} was changed in memory", True)
        for name, module in self.modules.items():
            now = sys.modules.get(name)
            if now is not module and now is not None:
                by = self.place(now)
                self.sign("module", f"module {name} was exchanged{_by(by)}", by == "source" or group_of(name) == "runner")

    def _changed(self, space, name, now):
        by = self.place(now) if now is not None else ""
        if by == "sealed":
            self.sign("patched", f"{space.label}.{name} was replaced by the tests themselves", False)
            return
        if third_party(now):
            return
        blocking = (by in ("source", "made") or space.group in ("runner", "core")) and f"{space.label}.{name}" not in HOOKS
        what = "removed" if now is None else "replaced"
        self.sign("patched", f"{space.label}.{name} was {what}{_by(by)}", blocking)

    def _recoded(self, label, function, group):
        by = self.places.of(function.__code__.co_filename, function.__globals__)
        self.sign("patched", f"code of {label} was replaced{_by(by)}", by != "sealed" and (by == "source" or group != "wide"))

    def glance(self):
        """After each test: vital functions, trace and profile functions."""
        for now, name, value, label in self.vital:
            if now(name) is not value and (by := self.place(now(name))) in ("source", "made"):
                self.sign("patched", f"{label} was replaced{_by(by)}", True)
        for what, function in (("trace", _gettrace()), ("profile", _getprofile())):
            if function is not None and self.place(function) == "source":
                self.sign("trace", f"a {what} function of production code stays active after a test", True)


class Guard:
    """The plugin that looks on while tests run."""

    def __init__(self, state):
        self.state, self.finished, self.started = state, 0, 0
        self.config = None

    def pytest_plugin_registered(self, plugin, manager):
        """Tell of plugins that production code brings or registers."""
        state = self.state
        if plugin is self or state.job.own_runner:  # a project that the runner itself needs has a hand in every registration
            return
        by_source = state.place(plugin) == "source"
        if by_source or state.places.caller_is_source(sys._getframe(1)):
            state.sign("plugin", f"a pytest plugin of production code was registered: {_name_of(plugin)}", True)

    def pytest_configure(self, config):
        """Keep the configuration."""
        self.config = config

    def pytest_collection_finish(self, session):
        """Keep the tests as they were collected."""
        self.state.tests.collected(session.items)

    def pytest_collectreport(self, report):
        """Keep the namespaces of sealed modules right after their import."""
        self.state.tests.imported()

    def pytest_runtest_logstart(self, nodeid, location):
        """Count."""
        self.started += 1

    def pytest_runtest_logfinish(self, nodeid, location):
        """Look."""
        self.finished += 1
        self.state.glance()

    def compare(self):
        """At the end: hook implementations that production code brought without registering a plugin."""
        state, config = self.state, self.config
        if config is None:
            return
        hook = config.pluginmanager.hook
        for name, caller in list(_vars(hook).items()):
            if not name.startswith("pytest_"):
                continue
            for impl in getattr(caller, "get_hookimpls", list)():
                if state.place(impl.function) == "source":
                    state.sign("plugin", f"a hook of production code was called by the runner: {name} of {_name_of(impl.plugin)}", True)
        if self.finished != self.started:
            state.sign("plugin", "the runner stopped calling its observers", True)


def before(job, emit):
    """Take the map; call it before any code of the scoring tree is loaded. The state's ``guard`` is a plugin for the run."""
    collecting = gc.isenabled()
    gc.disable()  # the map is made of some ten thousand small tuples, for which the collector would stop again and again
    try:
        return _before(job, emit)
    finally:
        if collecting:
            gc.enable()


def _before(job, emit):
    state = State(job, emit)
    state.tests = tamper_tests.Tests(state)
    for name in sorted(sys.modules):
        if name.split(".")[0] in RUNNER and name.split(".")[0] not in state.places.names:
            state.take(name, "runner")
    found, generated = load(job, state.places.names)
    for name in found:
        state.take(name, group_of(name))
    for kind in TYPES:
        state.spaces.append(Space(kind, kind.__name__, "core"))
    for name in sorted(sys.modules) if generated else ():
        if name.startswith("hypothesis"):
            state.take(name, "runner")
    state.digest()
    state.vital = [
        (space.names.get, name, value, f"{space.label}.{name}")
        for space in state.spaces for name, value in space.items if space.label in _VITAL
    ]
    state.audit.arm()
    return state


def load(job, source_names):
    """Import what the map is about, but nothing that bears a name of the source; returns the names, and whether hypothesis belongs to it."""
    texts = list(_texts(job))
    names = [name for name in (*CORE, *WIDE, *_used(texts)) if name.split(".")[0] not in source_names]
    [_load(name) for name in names]
    generated = any("hypothesis" in text for text in texts) and not source_names & {"hypothesis", "attr", "attrs", "sortedcontainers"}
    if generated:
        _load("hypothesis")
    return names, generated


_VITAL = {
    "builtins", "math", "unittest.case.TestCase", "_pytest.runner", "_pytest.runner.CallInfo", "_pytest.reports.TestReport", "_pytest.python.Function",
    "_pytest.raises", "_pytest.raises.RaisesExc", "_pytest.python_api", "_pytest.unittest.TestCaseFunction", "json", "random", "_pytest.main.Session",
    "hypothesis.core", "_pytest.assertion.rewrite", "_pytest.outcomes",
}


def after(job, state, emit):
    """Compare the map and say what differs."""
    state.audit.stop()
    for step in (state.compare, state.glance, state.guard.compare, state.tests.compare):
        try:
            step()
        except Exception as error:
            state.sign("tamper", f"the comparison itself failed: {type(error).__name__}", False)


def group_of(name):
    """``runner``, ``core`` or ``wide``."""
    if name.split(".")[0] in RUNNER and name != "unittest.mock":
        return "runner"
    return "core" if name in CORE else "wide"


def plain_function(value):
    """The Python function behind a descriptor, or None."""
    if isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    elif isinstance(value, property):
        value = value.fget
    elif isinstance(value, types.MethodType):
        value = value.__func__
    return value if isinstance(value, types.FunctionType) else None


def place_of(value, places, depth=4):
    """See ``State.place``."""
    function = plain_function(value)
    if function is not None:
        place = places.of(function.__code__.co_filename, function.__globals__)
        inner = getattr(function, "__wrapped__", None)
        return place if place != "library" or inner is None or not depth else place_of(inner, places, depth - 1)
    if isinstance(value, types.CodeType):
        return places.of(value.co_filename, {})
    if isinstance(value, types.ModuleType):
        file = getattr(value, "__file__", None)
        return places.of(file, _vars(value)) if isinstance(file, str) else "library"
    if isinstance(value, (types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType)):
        return "library"
    if isinstance(value, type):
        return _place_of_class(value, places)
    inner = getattr(value, "func", None) if type(value).__module__ == "functools" else None
    if inner is not None and depth:
        return place_of(inner, places, depth - 1)
    if isinstance(value, property):
        return next((place_of(part, places, depth - 1) for part in (value.fset, value.fdel) if part is not None), "")
    return _place_of_class(type(value), places) if value is not None else ""


def third_party(value):
    """Whether a value is a function of ours, or of an installed package that is not the runner: plugins replace some."""
    function = plain_function(value)
    file = function.__code__.co_filename if function is not None else ""
    if file.startswith(_HERE):
        return True
    parts = file.replace(os.sep, "/").split("/")
    return ("site-packages" in parts or "dist-packages" in parts) and not {"_pytest", "pluggy", "pytest", "mock"} & set(parts)


def _place_of_class(kind, places):
    for item in list(_vars(kind).values()):
        function = plain_function(item)
        if function is not None:
            place = places.of(function.__code__.co_filename, function.__globals__)
            if place == "source":
                return place
    module = sys.modules.get(kind.__module__) if isinstance(kind.__module__, str) else None
    file = getattr(module, "__file__", None)
    if isinstance(file, str):
        return places.of(file, _vars(module))
    return "library" if kind.__module__ in sys.builtin_module_names or kind.__module__ == "builtins" else "made"


def _code_text(code):
    """Instructions and constants as one comparable value; texts as bytes, so that a text changed in memory shows."""
    consts = []
    for const in code.co_consts:
        if isinstance(const, str):
            consts.append(str.encode(const, "utf-8", "surrogatepass"))
        elif isinstance(const, types.CodeType):
            consts.append(_code_text(const))
        elif isinstance(const, (int, float, bytes, type(None))):
            consts.append(repr(const))
    return (code.co_code, tuple(consts))


def _load(name):
    if name not in sys.modules:
        try:
            importlib.import_module(name)
        except Exception:
            return


def _texts(job):
    for file in job.files:
        try:
            with open(os.path.join(job.root, file), encoding="utf-8", errors="replace") as stream:
                yield stream.read()
        except OSError:
            continue


def _used(texts):
    """Modules of the standard library that sealed tests import."""
    library = getattr(sys, "stdlib_module_names", None) or set(sys.builtin_module_names)
    found = set()
    for text in texts:
        for name in re.findall(r"^[ \t]*(?:from|import)[ \t]+([A-Za-z_][\w.]*)", text, re.MULTILINE):
            top = name.split(".")[0]
            if top in library and top not in _NOT_EAGER and top not in RUNNER:
                found.add(name)
    return sorted(found)


def _name_of(plugin):
    kind = plugin if isinstance(plugin, (type, types.ModuleType)) else type(plugin)
    return str(getattr(kind, "__qualname__", getattr(kind, "__name__", "?")))[:100]


def _by(place):
    return {"source": " by production code", "made": " by code that has no file", "library": " by a library's"}.get(place, "")
