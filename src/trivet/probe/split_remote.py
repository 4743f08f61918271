"""Judge side: what objects and classes of the source look like to the tests.

Each class of the source has a mirror: a real class here with the same name and bases. A class that derives from a builtin value type has a mirror
that derives from it too, and its instances hold the bare value, so that every comparison with plain data is the judge's own. Other instances are
references; their equality is decided here as well (``split_equal``). Whatever else is asked of them is one request.
"""

import types

from . import split_channel as ch
from .split_codec import TYPE_NAMES
from .split_equal import equal, hashed

LOCAL_ONLY = frozenset(("__test__", "_pytestfixturefunction", "pytestmark", "_fixture_function_marker", "__tracebackhide__", "__pytest_wrapped__",
                        "__unittest_skip__", "__unittest_expecting_failure__", "_tv_ref", "_tv_text", "place_as", "_pytestfixture", "nofuncargs", "__bases__", "__isabstractmethod__", "hypothesis", "is_hypothesis_test"))

link = None
"""The one connection; set by ``split_judge.install``."""

_set = object.__setattr__

BINARY = {f"__{name}__": name.rstrip("_") for name in ["add", "sub", "mul", "truediv", "floordiv", "mod", "lshift", "rshift", "xor", "matmul", "lt", "le", "gt", "ge"]}
BINARY.update({"__and__": "and_", "__or__": "or_", "__pow__": "pow", "__divmod__": "divmod"})
REFLECTED = {"__r" + name[2:]: op for name, op in BINARY.items() if name not in ("__lt__", "__le__", "__gt__", "__ge__")}
INPLACE = {"__i" + name[2:]: "i" + op.rstrip("_") for name, op in BINARY.items() if name not in ("__lt__", "__le__", "__gt__", "__ge__", "__divmod__")}
PLAIN_OPS = {
    "__len__": "len", "__iter__": "iter", "__next__": "next", "__bool__": "bool", "__int__": "int", "__float__": "float", "__complex__": "complex",
    "__index__": "index", "__bytes__": "bytes", "__round__": "round", "__trunc__": "trunc", "__floor__": "floor", "__ceil__": "ceil", "__abs__": "abs",
    "__neg__": "neg", "__pos__": "pos", "__invert__": "invert", "__reversed__": "reversed", "__contains__": "contains", "__getitem__": "getitem",
    "__setitem__": "setitem", "__delitem__": "delitem", "__length_hint__": "length_hint", "__repr__": "repr", "__str__": "str", "__format__": "format",
    "__fspath__": "fspath",
}
METHODS = ("__enter__", "__aiter__", "__anext__", "__aenter__", "__aexit__", "__html__", "__instancecheck__", "__init__", "__missing__", "__set_name__")
COMPARE = ("__eq__", "__ne__", "__hash__")
ORDER = ("__lt__", "__le__", "__gt__", "__ge__")


def _forward(dunder, home):
    """A special method of a mirror that asks the subject."""
    if dunder == "__call__":
        def asked(self, *args, **kwargs):
            return link.request(ch.CALL, self, args, kwargs)
    elif dunder == "__exit__":
        def asked(self, kind, error, trace):
            return link.request(ch.METHOD, self, "__exit__", (kind, error, None), {})
    elif dunder == "__await__":
        def asked(self):
            if False:
                yield
            return link.request(ch.AWAIT, self)
    elif dunder in REFLECTED:
        name = REFLECTED[dunder]

        def asked(self, other):
            return link.request(ch.BUILTIN, name, (other, self))
    elif dunder in BINARY or dunder in INPLACE or dunder in PLAIN_OPS:
        name = BINARY.get(dunder) or INPLACE.get(dunder) or PLAIN_OPS[dunder]

        def asked(self, *args):
            return link.request(ch.BUILTIN, name, (self, *args))
    else:
        def asked(self, *args, **kwargs):
            return link.request(ch.METHOD, self, dunder, args, kwargs)

    def method(self, *args, **kwargs):
        if type(self)._tv_local:
            return link.request(ch.ASK, home[0], dunder, (self, *args), kwargs)
        return asked(self, *args, **kwargs)

    if dunder in ("__await__", "__next__", "__iter__", "__call__", "__getitem__", "__len__"):
        method = asked
    if dunder in ("__repr__", "__str__", "__format__"):
        def text(self, *args):
            return str.__str__(method(self, *args))
        return text
    method.__name__ = dunder
    return method


class Stub:
    """A method of a class of the source, as it stands in the mirror's namespace."""

    __slots__ = ("home", "name")

    def __init__(self, home, name):
        self.home = home
        self.name = name

    def __get__(self, holder, owner=None):
        if holder is None:
            return RemoteMethod(owner, self.name, None)
        return RemoteMethod(holder, self.name, self.home[0] if type(holder)._tv_local else None)


class RemoteMethod:
    """A bound method of a remote object or class; getting it costs nothing, calling it one request."""

    __slots__ = ("__weakref__", "_tv_holder", "_tv_home", "_tv_name")

    def __init__(self, holder, name, home):
        self._tv_holder, self._tv_name, self._tv_home = holder, name, home

    def __call__(self, *args, **kwargs):
        if self._tv_home is not None:
            return link.request(ch.ASK, self._tv_home, self._tv_name, (self._tv_holder, *args), kwargs)
        return link.request(ch.METHOD, self._tv_holder, self._tv_name, args, kwargs)

    @property
    def __self__(self):
        return self._tv_holder

    @property
    def __name__(self):
        return self._tv_name

    @property
    def __doc__(self):
        return link.request(ch.GET, self, "__doc__")

    @property
    def __module__(self):
        return link.request(ch.GET, self, "__module__")

    @property
    def __class__(self):
        return types.MethodType

    @property
    def __signature__(self):
        return signature(self)

    def __getattr__(self, name):
        if name in LOCAL_ONLY:
            raise AttributeError(name)
        return link.request(ch.GET, self, name)

    def __eq__(self, other):
        return type(other) is RemoteMethod and self._tv_holder is other._tv_holder and self._tv_name == other._tv_name

    def __hash__(self):
        return hash(self._tv_name)

    def __repr__(self):
        return str.__str__(link.request(ch.BUILTIN, "repr", (self,)))


def signature(value):
    """An ``inspect.Signature`` of something remote."""
    import inspect

    params, has_return, returned = link.request(ch.BUILTIN, "signature", (value,))
    empty = inspect.Parameter.empty
    made = [
        inspect.Parameter(name, inspect._ParameterKind(kind), default=default if has_default else empty, annotation=note if has_note else empty)
        for name, kind, has_default, default, has_note, note in params
    ]
    return inspect.Signature(made, return_annotation=returned if has_return else inspect.Signature.empty)


class RemoteMeta(type):
    """The class of mirrors."""

    def __new__(mcs, name, bases, space, *, tv_made=None, **options):
        if tv_made is not None:
            return super().__new__(mcs, name, bases, space)
        from .split_subclass import derive

        return derive(mcs, name, bases, space, options)

    def __init__(cls, name, bases, space, **options):
        super().__init__(name, bases, space)

    def __call__(cls, *args, **kwargs):
        return link.request(ch.CALL, cls, args, kwargs)

    def __getattr__(cls, name):
        if name in LOCAL_ONLY or name.startswith("_tv_"):
            raise AttributeError(name)
        return link.request(ch.GET, cls, name)

    def __setattr__(cls, name, value):
        if name.startswith("_tv_") or name == "__abstractmethods__":
            type.__setattr__(cls, name, value)
            return
        held = cls.__dict__.get(name)
        key = (link.current.generation, name)
        if type(value) is Stub:
            value = cls._tv_saved.get(key, value)
        elif type(held) is Stub and key not in cls._tv_saved:
            link.session()
            cls._tv_saved[(link.current.generation, name)] = link.request(ch.BUILTIN, "getitem", (link.request(ch.GET, cls, "__dict__"), name))
        link.request(ch.SET, cls, name, value)

    def __delattr__(cls, name):
        link.request(ch.DELETE, cls, name)

    def __iter__(cls):
        return link.request(ch.BUILTIN, "iter", (cls,))

    def __len__(cls):
        return link.request(ch.BUILTIN, "len", (cls,))

    def __getitem__(cls, key):
        return link.request(ch.BUILTIN, "getitem", (cls, key))

    def __contains__(cls, item):
        return link.request(ch.BUILTIN, "contains", (cls, item))

    def __bool__(cls):
        return True

    def __dir__(cls):
        return link.request(ch.BUILTIN, "dir", (cls,))

    def __repr__(cls):
        return "<class '%s.%s'>" % (cls.__module__, cls.__qualname__)

    def __instancecheck__(cls, value):
        if type.__instancecheck__(cls, value):
            return True
        if cls._tv_flags.get("meta") in ("ABCMeta", "_ProtocolMeta") and not isinstance(type(value), RemoteMeta):
            return link.request(ch.BUILTIN, "isinstance", (value, cls)) is True
        return False

    def __subclasscheck__(cls, kind):
        if type.__subclasscheck__(cls, kind):
            return True
        if cls._tv_flags.get("meta") in ("ABCMeta", "_ProtocolMeta") and isinstance(kind, type):
            return link.request(ch.BUILTIN, "issubclass", (kind, cls)) is True
        return False

    @property
    def __signature__(cls):
        return signature(cls)


def _dict(self):
    return link.request(ch.GET, self, "__dict__")


class Remote:
    """What all remote instances do."""

    def __getattr__(self, name):
        if name in LOCAL_ONLY:
            raise AttributeError(name)
        return link.request(ch.GET, self, name)

    def __setattr__(self, name, value):
        link.request(ch.SET, self, name, value)

    def __delattr__(self, name):
        link.request(ch.DELETE, self, name)

    def __copy__(self):
        return link.request(ch.BUILTIN, "copy", (self,))

    def __deepcopy__(self, memo):
        return link.request(ch.BUILTIN, "deepcopy", (self,))

    def __reduce_ex__(self, protocol):
        return unpickle, (link.request(ch.PICKLE, self, protocol),)

    def __dir__(self):
        return link.request(ch.BUILTIN, "dir", (self,))

    def __del__(self):
        held = _ref(self)
        if held is not None:
            held[0].dropped.append(held[1])


def _ref(value):
    try:
        return object.__getattribute__(value, "_tv_ref")
    except AttributeError:
        return None


def unpickle(data):
    """Load what a remote object was pickled to."""
    return link.request(ch.PICKLE, data, None)


def mirror(number, facts, bases, members, flags):
    """Make the mirror of a class from the subject's description of it."""
    module, qualname, doc, source = facts
    home = [None]
    is_error = any(issubclass(base, BaseException) for base in bases)
    plain = next((kind for base in bases for kind in base.__mro__ if kind in TYPE_NAMES and kind is not object), None)
    space = {"__module__": module, "__qualname__": qualname, "__doc__": doc, "_tv_local": False, "_tv_flags": flags, "_tv_number": number, "_tv_saved": {}}
    names = dict(members)
    for name, mark in names.items():
        if name in COMPARE:
            continue
        if name[:2] == "__" and name[-2:] == "__":
            known = name in BINARY or name in REFLECTED or name in INPLACE or name in PLAIN_OPS or name in METHODS
            if (known or name in ("__call__", "__exit__", "__await__")) and mark in "mc":
                if (plain is not None or is_error) and name in (*ORDER, "__init__", "__bool__", "__len__"):
                    continue
                if is_error and name in ("__str__", "__repr__"):
                    continue
                space[name] = _forward(name, home)
        elif mark in "mc":
            space[name] = Stub(home, name)
    if not any(isinstance(base, RemoteMeta) for base in bases):
        bases = (RemoteError if is_error else Remote, *bases)
    if is_error:
        space["__str__"] = _error_text
    elif plain is None:
        space["__eq__"], space["__ne__"], space["__hash__"] = equal, _unequal, None if names.get("__hash__") == "-" else hashed
        space["__dict__"] = property(_dict)
    else:
        for dunder in COMPARE:
            space[dunder] = getattr(plain, dunder)
        for dunder in ORDER:
            if hasattr(plain, dunder):
                space[dunder] = getattr(plain, dunder)
    if not source:
        _as_library(space, module, qualname)
    kind = RemoteMeta(qualname.rpartition(".")[2], tuple(bases), space, tv_made=True)
    home[0] = kind
    return kind


HIDDEN = {
    kind.__name__: kind for kind in (
        types.FunctionType, types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, types.MethodType, types.BuiltinFunctionType,
        types.ModuleType, types.MappingProxyType, types.CodeType, type(iter([])), type(iter(())), type(iter({})), type(iter(range(1))), map, filter,
        zip, enumerate, reversed,
    )
}


def _as_library(space, module, qualname):
    """Instances of a library's class answer ``isinstance`` as such."""
    from .split_errors import library_class

    real = HIDDEN.get(qualname) if module == "builtins" else library_class(module, qualname, link.served)
    if real is not None and real not in TYPE_NAMES and not issubclass(real, BaseException):
        space["__class__"] = property(lambda self: real)
    if qualname in ("function", "builtin_function_or_method", "method", "_lru_cache_wrapper", "partial"):
        space["__signature__"] = property(signature)
        for name in ("__doc__", "__module__"):
            space[name] = property(lambda self, name=name: link.request(ch.GET, self, name))
    if qualname == "coroutine":
        def send(self, value):
            raise StopIteration(link.request(ch.AWAIT, self))
        space["send"] = send


def _unequal(self, other):
    answer = equal(self, other)
    return answer if answer is NotImplemented else not answer


class RemoteError:
    """What exceptions of the source do besides being exceptions."""

    def __getattr__(self, name):
        if name in LOCAL_ONLY or name.startswith("__"):
            raise AttributeError(name)
        if _ref(self) is None:
            raise AttributeError(name)
        return link.request(ch.GET, self, name)

    def __reduce_ex__(self, protocol):
        return unpickle, (link.request(ch.PICKLE, self, protocol),)


def _error_text(self):
    text = self.__dict__.get("_tv_text")
    if text is not None:
        return text
    base = next(kind for kind in type(self).__mro__ if kind.__module__ == "builtins" and issubclass(kind, BaseException))
    return base.__str__(self)
