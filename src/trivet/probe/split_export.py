"""Subject side: how objects of the source are described to the judge. Everything here is only an answer; the judge decides what it means.

Tags: ``Y`` a type both sides know by name, ``C``/``U`` a class (known / with its description), ``O`` an object by reference with its class and
what of it crosses by value, ``@`` a container that is shared, ``x`` an exception, ``j`` something that the judge lent, ``E`` an enum member of
the standard library, ``R`` a compiled pattern, ``G`` a time zone by key.
"""

import builtins
import enum
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from fractions import Fraction

from .split_codec import MUTABLE, PLAIN, SCALARS, TYPE_NAMES, Writer, pack_u32

PatternType = type(__import__("re").compile(""))
BUILTIN_ERRORS = {kind: name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)}

STDLIB = frozenset(getattr(sys, "stdlib_module_names", ("http", "re", "socket", "signal", "enum", "uuid", "inspect", "decimal", "ssl")))

_BASES = (
    bool, int, float, complex, str, bytes, bytearray, tuple, frozenset, list, set, OrderedDict, Counter, defaultdict, dict, deque, datetime, date,
    time, timedelta, Decimal, Fraction,
)

_EXACT = {
    int: int.__int__, float: float.__float__, complex: lambda v: complex(v.real, v.imag), str: str.__str__,
    bytes: lambda v: bytes.__getitem__(v, slice(None)), bytearray: lambda v: bytearray.__getitem__(v, slice(None)),
    tuple: lambda v: tuple.__getitem__(v, slice(None)), frozenset: lambda v: frozenset([*frozenset.__iter__(v)]),
    list: lambda v: list.__getitem__(v, slice(None)), set: lambda v: {*set.__iter__(v)},
    dict: lambda v: {key: dict.__getitem__(v, key) for key in dict.__iter__(v)},
    deque: lambda v: deque(deque.__iter__(v), v.maxlen), Decimal: Decimal,
    Fraction: lambda v: Fraction(v.numerator, v.denominator),
    datetime: lambda v: datetime(v.year, v.month, v.day, v.hour, v.minute, v.second, v.microsecond, v.tzinfo, fold=v.fold),
    date: lambda v: date(v.year, v.month, v.day), time: lambda v: time(v.hour, v.minute, v.second, v.microsecond, v.tzinfo, fold=v.fold),
    timedelta: lambda v: timedelta(v.days, v.seconds, v.microseconds),
}
_AS_DICT = (OrderedDict, Counter, defaultdict)


def value_base(kind):
    """The builtin value type that a class derives from, or None."""
    for base in kind.__mro__:
        if base in _BASES:
            return base
    return None


def exact(value, base):
    """The bare builtin value of an instance of a subclass."""
    return _EXACT[dict if base in _AS_DICT else base](value)


class Exports:
    """The table of objects that the judge holds references to."""

    def __init__(self):
        self.numbers = {}
        self.objects = {}
        self.next = 1
        self.told = set()
        self.is_source = lambda module: False
        self.lent = {}

    def number(self, value):
        """The number of an object; kept alive until the judge releases it."""
        key = id(value)
        number = self.numbers.get(key)
        if number is None:
            number = self.next
            self.next = number + 1
            self.numbers[key] = number
            self.objects[number] = value
        return number

    def release(self, numbers):
        """The judge dropped these."""
        for number in numbers:
            value = self.objects.pop(number, None)
            if value is not None:
                self.numbers.pop(id(value), None)

    def writer(self, known=None, fix_text=None):
        """A writer for one message."""
        return Writer(self.put, None, known, fix_text)

    def put(self, w, value):
        """Write what is not plain."""
        lent = self.lent.get(id(value))
        if lent is not None:
            w.out += b"j" + pack_u32(lent)
            return
        kind = type(value)
        if isinstance(value, type) and issubclass(kind, type):
            self.put_class(w, value)
        elif isinstance(value, BaseException):
            self.put_error(w, value)
        elif kind is PatternType:
            w.out += b"R"
            w.put(value.pattern)
            w.put(value.flags)
        elif kind.__module__ == "zoneinfo" and kind.__name__ == "ZoneInfo" and value.key:
            w.out += b"G"
            w.put(value.key)
        elif isinstance(value, enum.Enum) and not self.is_source(kind.__module__) and kind.__module__.partition(".")[0] in STDLIB:
            w.out += b"E"
            w.put((kind.__module__, kind.__qualname__, value.name or ""))
        else:
            self.put_object(w, value, kind)

    def put_object(self, w, value, kind):
        """Write a reference, with the part of the object that crosses by value."""
        w.deeper()
        w.out += b"O" + pack_u32(self.number(value))
        # A plain ``object()``, a property and the like are references too: their class is described as any other.
        self.put_class(w, kind, described=True)
        base = value_base(kind)
        if base is not None:
            w.out += b"v"
            plain = exact(value, base)
            PLAIN[type(plain)](w, plain)
        elif "__dataclass_params__" in kind.__dict__ and kind.__dict__["__dataclass_params__"].frozen:
            held = [(name, value.__dict__[name]) for name in kind.__dataclass_fields__ if name in getattr(value, "__dict__", ())]
            w.out += b"f"
            w.put(tuple((name, item) for name, item in held if type(item) in SCALARS))
        else:
            w.out += b"-"
        w.depth -= 1

    def put_shared(self, w, value):
        """Write an attribute's value: a plain container keeps its identity."""
        if type(value) in (list, dict, set) and not (w.known and id(value) in w.known):
            w.out += b"@" + pack_u32(self.number(value))
        w.put(value)

    # --- classes

    def put_class(self, w, kind, *, described=False):
        """Write a class."""
        name = None if described else TYPE_NAMES.get(kind) or BUILTIN_ERRORS.get(kind)
        if name is not None:
            w.out += b"Y"
            w.put(name)
            return
        number = self.number(kind)
        if number in self.told:  # only ever told with a description
            w.out += b"C" + pack_u32(number)
            return
        self.told.add(number)
        w.out += b"U" + pack_u32(number)
        source = self.is_source(kind.__module__)
        w.put((str(kind.__module__), str(kind.__qualname__), kind.__doc__ if type(kind.__doc__) is str else None, source))
        bases = [base for base in kind.__bases__ if base is not object]
        if not source and not issubclass(kind, BaseException):
            base = value_base(kind)
            bases = [base] if base else [tzinfo] if issubclass(kind, tzinfo) and kind is not tzinfo else []
        w.out += pack_u32(len(bases))
        w.deeper()
        for base in bases:
            self.put_class(w, base)
        w.depth -= 1
        w.put(tuple(self._members(kind, source)))
        w.put(self._flags(kind))

    @staticmethod
    def _members(kind, source):
        if source:
            spaces = [kind.__dict__]
        else:
            spaces = [base.__dict__ for base in reversed(kind.__mro__) if base is not object and base not in _BASES]
        found = {}
        for space in spaces:
            for name, item in list(space.items()):
                if isinstance(item, (types.FunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)):
                    found[name] = "m"
                elif isinstance(item, (staticmethod, classmethod, types.ClassMethodDescriptorType, types.BuiltinFunctionType)):
                    found[name] = "c"
                elif item is None and name == "__hash__":
                    found[name] = "-"
                else:
                    found[name] = "v"
        return [(str(name), mark) for name, mark in found.items()]

    @staticmethod
    def _flags(kind):
        equals = "object"
        owner = next((base for base in kind.__mro__ if "__eq__" in base.__dict__), object)
        if owner is not object:
            code = getattr(owner.__dict__["__eq__"], "__code__", None)
            params = owner.__dict__.get("__dataclass_params__")
            equals = "fields" if params is not None and params.eq and getattr(code, "co_filename", "") == "<string>" else "own"
        fields = getattr(kind, "__dataclass_fields__", None)
        named = getattr(kind, "_fields", None) if issubclass(kind, tuple) else None
        return {
            "eq": equals,
            "fields": tuple(str(name) for name, field in fields.items() if field.compare) if isinstance(fields, dict) else None,
            "named": tuple(map(str, named)) if isinstance(named, tuple) else None,
            "meta": type(kind).__name__ if type(kind) is not type else "",
        }

    # --- exceptions

    def put_error(self, w, error, depth=0):
        """Write an exception: class, number, args, text, attributes, cause and context."""
        lent = self.lent.get(id(error))
        if lent is not None:
            w.out += b"j" + pack_u32(lent)
            return
        w.deeper()
        w.out += b"x" + pack_u32(self.number(error))
        self.put_class(w, type(error))
        args = error.args
        if isinstance(error, OSError) and error.filename is not None and len(args) == 2:
            args = (*args, error.filename)
        w.put(args if type(args) is tuple else tuple(args))
        own = next((base for base in type(error).__mro__ if "__str__" in base.__dict__), object)
        try:
            text = str.__str__(str(error)) if own not in BUILTIN_ERRORS and own is not object else None
        except Exception:
            text = None
        w.put(text)
        held = dict.copy(error.__dict__) if getattr(error, "__dict__", None) else {}
        notes = held.pop("__notes__", None)
        w.put({str(name): item for name, item in held.items()})
        w.put(tuple(str(note) for note in notes) if isinstance(notes, list) else ())
        cause = error.__cause__
        context = None if error.__suppress_context__ else error.__context__
        for other in (cause, context):
            if other is None or depth >= 3 or other is error:
                w.out += b"N"
            else:
                self.put_error(w, other, depth + 1)
        w.depth -= 1


def snapshot(values):
    """The content of arguments as bytes, to see whether a call has changed them; references count by identity."""

    def other(w, value):
        w.out += b"#%d" % id(value)

    w = Writer(other)
    w.put(values)
    return bytes(w.out)


def put_changes(w, noted):
    """Write the present content of the containers that came as arguments."""
    w.out += pack_u32(len(noted))
    for value in noted:
        if not isinstance(value, MUTABLE):
            w.out += b"N"
            continue
        held = w.known.pop(id(value), None)
        w.put(value)
        if held is not None:
            w.known[id(value)] = held
