"""Judge side: what crosses to the subject when it is not plain, and what the subject may do with it.

Functions and classes of installed packages cross by name and run there. What the tests made crosses as a loan: the subject may call it, read its
public attributes, and use the operators that its class defines. It never gets frames, code, globals, modules or anything of the runner.
"""

import array
import ast
import collections.abc
import datetime as dt
import enum
import inspect
import io
import ipaddress
import logging
import numbers
import os
import pickle
import re
import sys
import types

from .split_codec import PLAIN, TYPE_NAMES, BadBytes, pack_u32
from .split_errors import RUNNERS, builtin_error
from .split_remote import BINARY, INPLACE, PLAIN_OPS, REFLECTED, RemoteMeta, RemoteMethod, _ref
from .split_shared import KINDS

INNER = (types.FrameType, types.CodeType, types.TracebackType, types.CellType)
NEVER = re.compile(r"^(gi|cr|ag|tb|f|co|func|im)_(frame|code|globals|builtins|back|locals|closure|dict|await|yieldfrom|running|lasti|func|self)$")
OPS = (
    frozenset(BINARY) | frozenset(REFLECTED) | frozenset(INPLACE) | frozenset(PLAIN_OPS)
    | {"__eq__", "__ne__", "__hash__", "__enter__", "__exit__", "__call__", "__aiter__", "__anext__", "__aenter__", "__aexit__", "__await__", "__missing__"}
)
ABSTRACT = {
    **{name: getattr(collections.abc, name) for name in ("Mapping", "MutableMapping", "Sequence", "MutableSequence", "Set", "MutableSet")},
    **{name: getattr(io, name) for name in ("IOBase", "RawIOBase", "BufferedIOBase", "TextIOBase")},
    **{name: getattr(numbers, name) for name in ("Number", "Complex", "Real", "Rational", "Integral")},
    "PathLike": os.PathLike,
}
DATA = (dt.tzinfo, ast.AST, array.array, inspect.Signature, ipaddress._IPAddressBase)
"""Library classes whose instances are data: they cross as a copy."""
FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType)


class Lender:
    """Writes loans and serves what the subject does with them."""

    def __init__(self, link, root):
        self.link = link
        self.root = root
        self.objects = {}
        self.numbers = {}
        self.next = 1
        self.libraries = {}

    def find(self, number):
        """A loan by its number."""
        try:
            return self.objects[number][0]
        except KeyError:
            raise BadBytes("something that was never lent") from None

    # --- writing

    def put(self, w, value):
        """Write what is not plain."""
        kind = type(value)
        if isinstance(kind, RemoteMeta):
            self._own(w, value, _ref(value))
        elif isinstance(value, RemoteMeta) and isinstance(kind, type) and issubclass(kind, RemoteMeta):
            self._own(w, value, None)
        elif kind is RemoteMethod:
            w.out += b"A"
            w.put(value._tv_holder)
            w.put(value._tv_name)
        elif kind in KINDS:
            self._own(w, value, value._tv_ref)
        elif getattr(kind, "_tv_module", False):
            w.out += b"H" + pack_u32(value._tv_number)
        elif isinstance(value, type):
            self._class(w, value)
        elif kind in FUNCTIONS or kind in (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType):
            self._function(w, value)
        elif kind is re.Pattern:
            w.out += b"R"
            w.put(value.pattern)
            w.put(value.flags)
        elif isinstance(value, types.ModuleType):
            self._library(w, value.__name__, "") if self.is_library(value.__name__) else self._refuse("the module %s" % value.__name__)
        elif isinstance(value, INNER):
            self._refuse("a %s" % kind.__name__)
        elif kind.__module__ == "zoneinfo" and getattr(value, "key", None):
            w.out += b"G"
            w.put(value.key)
        elif isinstance(value, enum.Enum) and (self.named(kind) or value.name):
            w.out += b"A"
            w.put(kind)
            w.put(value.name)
        elif isinstance(value, DATA) and self.is_library(kind.__module__):
            if not self._loan(w, value):
                w.out += b"t"
                w.put(pickle.dumps(value))
        elif kind is logging.LogRecord:
            self._record(w, value)
        elif isinstance(value, BaseException):
            self._error(w, value)
        else:
            self._object(w, value, kind)

    def _refuse(self, what):
        raise self.link.refuse(what)

    def _own(self, w, value, ref):
        if ref is None:
            number = getattr(type(value) if not isinstance(value, RemoteMeta) else value, "_tv_number", None)
            home = value._tv_home if isinstance(value, RemoteMeta) else None
            if number is None or home is None:
                self._refuse("an object of %s that was made without the source" % type(value).__name__)
            if home not in (0, self.link.current_session.generation):
                self._refuse("the class %s, which was made in another test" % value.__name__)
            w.out += b"H" + pack_u32(number)
            return
        session, number = ref
        current = self.link.current_session
        if session is not current and (session is not current.parent or number > current.border):
            self._refuse("a %s that was made in another test or for a wider scope" % type(value).__name__)
        w.out += b"H" + pack_u32(number)

    def is_library(self, module):
        """Whether a module belongs to the standard library or an installed package, and not to the runner."""
        known = self.libraries.get(module)
        if known is None:
            top = (module or "").partition(".")[0]
            found = sys.modules.get(module)
            file = getattr(found, "__file__", None) or ""
            known = (
                found is not None and top not in RUNNERS and top not in self.link.served and top != "__main__" and not getattr(type(found), "_tv_module", False)
                and not file.startswith(self.root + os.sep) and (bool(file) or top in sys.builtin_module_names or top in STDLIB)
            )
            self.libraries[module] = known
        return known

    def named(self, value):
        """(module, path) of something that the subject can find by name, or None."""
        module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if isinstance(value, (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)):
            module, path = value.__objclass__.__module__, "%s.%s" % (value.__objclass__.__qualname__, value.__name__)
        if isinstance(value, types.BuiltinFunctionType) and module is None:
            owner = value.__self__
            if not isinstance(owner, type):
                return None
            module, path = owner.__module__, "%s.%s" % (owner.__qualname__, value.__name__)
        if type(module) is not str or type(path) is not str or "<" in path or not self.is_library(module):
            return None
        found = sys.modules[module]
        for part in path.split("."):
            found = getattr(found, part, None)
        return (module, path) if found is value or (found == value and type(found) is type(value)) else None

    def _library(self, w, module, path):
        w.out += b"g"
        w.put((module, path))

    def _class(self, w, kind):
        name = TYPE_NAMES.get(kind)
        if name is None and kind.__module__ == "builtins" and builtin_error(kind.__name__) is kind:
            name = kind.__name__
        if name is not None:
            w.out += b"Y"
            w.put(name)
            return
        found = self.named(kind)
        if found:
            self._library(w, *found)
        else:
            self._stand_in(w, kind)

    def _loan(self, w, value, key=None):
        """Write the number of a loan; returns whether the subject knows it already."""
        key = id(value) if key is None else key
        number = self.numbers.get(key)
        if number is None:
            number = self.next
            self.next = number + 1
            self.numbers[key] = number
            self.objects[number] = (value, key)
        told = self.link.current_session.told
        if number in told:
            w.out += b"j" + pack_u32(number)
            return True
        told.add(number)
        w.out += b"J" + pack_u32(number)
        return False

    def _stand_in(self, w, kind):
        """Write a class whose instances are loans."""
        if kind.__module__.partition(".")[0] in RUNNERS and not kind.__module__.startswith("unittest.mock"):
            self._refuse("%s.%s, which belongs to the test runner" % (kind.__module__, kind.__name__))
        if any(base.__name__ == "TestCase" and base.__module__.startswith("unittest") for base in kind.__mro__):
            self._refuse("a test case")
        if self._loan(w, kind, ("class", id(kind))):
            return
        if issubclass(kind, enum.Enum):
            self._enum(w, kind)
            return
        w.out += b"k"
        is_error = issubclass(kind, BaseException)
        base = next((base for base in kind.__mro__ if base in PLAIN and base not in (type(None), bool)), None)
        dunders = () if is_error else tuple(
            name for name in OPS
            if any(name in vars(owner) and vars(owner)[name] is not None for owner in kind.__mro__ if owner is not object and owner is not base)
        )
        abstract = tuple(name for name, meaning in ABSTRACT.items() if not base and issubclass(kind, meaning))
        w.put((kind.__name__, kind.__module__ if is_error else "__main__", dunders, is_error))
        w.put(tuple(b for b in kind.__bases__ if b is not object) if is_error else (base,) if base else ())
        w.put(abstract)

    def _enum(self, w, kind):
        """Write an enumeration of the tests: over there it is a real one, and each member a loan."""
        base = next(base for base in kind.__mro__ if base.__module__ == "enum" and base.__name__ != "ReprEnum")
        mixed = next((base for base in kind.__mro__ if base in PLAIN), None)
        rows = []
        for name, member in kind.__members__.items():
            number = self.numbers.get(id(member))
            if number is None:
                number = self.next
                self.next = number + 1
                self.numbers[id(member)] = number
                self.objects[number] = (member, id(member))
            self.link.current_session.told.add(number)
            rows.append((name, member.value if type(member.value) in PLAIN else str(member.value), number))
        w.out += b"n"
        w.put((kind.__name__, base.__name__, mixed, rows))

    def _function(self, w, value):
        found = self.named(value)
        if found:
            self._library(w, *found)
            return
        owner = getattr(value, "__self__", None)
        if isinstance(value, types.MethodType) and type(owner).__module__.startswith("_pytest"):
            self._refuse("a method of the test runner")
        if self._loan(w, value, ("method", id(owner), value.__name__) if owner is not None and not isinstance(owner, types.ModuleType) else None):
            return
        w.out += b"a" if inspect.iscoroutinefunction(value) else b"f"
        name = getattr(value, "__name__", "function")
        try:
            params = [
                (p.name, int(p.kind), p.default is not p.empty, p.default if p.default is not p.empty and type(p.default) in PLAIN else None)
                for p in inspect.signature(value).parameters.values()
            ]
        except (TypeError, ValueError):
            params = None
        doc = getattr(value, "__doc__", None)
        w.put((name, getattr(value, "__qualname__", name).rpartition("<locals>.")[2], "__main__", doc if type(doc) is str else None, params))

    def _error(self, w, error):
        if self._loan(w, error):
            return
        w.out += b"x"
        kind = type(error)
        w.put(kind if kind.__module__.partition(".")[0] not in RUNNERS else (Exception if isinstance(error, Exception) else BaseException))
        w.put(tuple(arg if type(arg) in PLAIN else repr(arg) for arg in error.args))

    def _record(self, w, record):
        """A log record crosses as a copy, without the frames of its exception."""
        if self._loan(w, record):
            return
        facts = dict(vars(record))
        if facts.get("exc_info"):
            facts["exc_info"] = (*facts["exc_info"][:2], None)
        w.out += b"l"
        w.put(facts)

    def _object(self, w, value, kind):
        base = next((base for base in kind.__mro__ if base in PLAIN), None)
        if base is not None and self.named(kind) and _ref(value) is None:
            w.out += b"W"
            w.put(self.named(kind))
            PLAIN[base](w, _bare(value, base))
            return
        number = self.numbers.get(id(value))
        if number is not None and number in self.link.current_session.told:
            w.out += b"j" + pack_u32(number)
            return
        mark = len(w.out)
        self._loan(w, value)
        w.out += b"o"
        try:
            self._stand_in(w, kind)
        except BaseException:
            self.link.current_session.told.discard(self.numbers[id(value)])
            del w.out[mark:]
            raise
        if base is None:
            w.put(None)
        else:
            PLAIN[base](w, _bare(value, base))

    # --- serving

    def serve(self, verb, number, name, args, kwargs):
        """Do what the subject asks of a loan."""
        if type(number) is not int or type(verb) is not str or type(name) is not str or type(args) is not tuple or type(kwargs) is not dict:
            raise BadBytes("no callback")
        value = self.find(number)
        if verb == "call":
            return self._checked(value(*args, **kwargs))
        if verb == "get":
            return self._checked(self._attribute(value, name))
        if verb == "set":
            if name.startswith("_") or self._foreign(type(value)):
                raise AttributeError("the source may not set %r here" % name)
            return setattr(value, name, args[0])
        if verb == "op":
            if name not in OPS:
                raise BadBytes("an unknown operator")
            return self._checked(getattr(type(value), name)(value, *args, **kwargs))
        if verb == "await":
            return self._checked(self._drive(value(*args, **kwargs) if inspect.iscoroutinefunction(value) else value))
        if verb == "awaitop" and name in ("__aenter__", "__aexit__", "__anext__"):
            return self._checked(self._drive(getattr(type(value), name)(value, *args)))
        raise BadBytes("an unknown callback")

    def _foreign(self, kind):
        return self.is_library(kind.__module__) and kind is not types.SimpleNamespace

    def _attribute(self, value, name):
        hidden = name.startswith("__") or (name.startswith("_") and self._foreign(type(value)))
        if hidden or NEVER.match(name) or isinstance(value, FUNCTIONS):
            raise AttributeError("%r object has no attribute %r" % (type(value).__name__, name))
        return getattr(value, name)

    def _checked(self, value):
        if isinstance(value, INNER):
            raise self.link.refuse("a %s" % type(value).__name__)
        return value

    def _drive(self, awaitable):
        """Run an awaitable of the tests that never really waits."""
        steps = awaitable.__await__()
        try:
            next(steps)
        except StopIteration as end:
            return end.value
        raise self.link.refuse("a coroutine of the tests that waits while the source waits for it")


def _bare(value, base):
    """The plain value of an instance of a subclass."""
    from .split_export import _EXACT, exact

    return exact(value, base) if base in _EXACT or base.__name__ in ("OrderedDict", "Counter", "defaultdict") else base(value)


STDLIB = frozenset(getattr(sys, "stdlib_module_names", ()))
