"""Subject side: stand-ins for what the judge lends: callables, fakes, files, iterators and classes made by the tests.

A stand-in can be called, read by public attribute, and used with the operators that the original has; each use is one callback. The judge decides
what it answers (see ``split_lend``).
"""

import builtins
import collections.abc
import importlib
import io
import numbers
import os
import pickle
import sys

from .split_codec import BUILTIN_TYPES, BadBytes

class Stage:
    """Makes and keeps the stand-ins of one subject. ``ask(verb, number, name, args, kwargs)`` is the callback."""

    def __init__(self, exports, ask):
        self.exports = exports
        self.ask = ask
        self.made = {}
        self.kinds = {}

    def hooks(self):
        """Reader hooks for what the judge sends."""
        return {
            ord("j"): self.lent, ord("J"): self.define, ord("H"): self.own, ord("g"): self.named, ord("Y"): read_type, ord("R"): read_pattern,
            ord("G"): read_zone, ord("W"): self.library_value, ord("A"): self.attribute,
        }

    def own(self, r):
        """An object of this side."""
        number = r.u32()
        try:
            return self.exports.objects[number]
        except KeyError:
            raise BadBytes("an object that is gone") from None

    def attribute(self, r):
        """An attribute of an object of this side."""
        holder, name = r.get(), r.get()
        return getattr(holder, name)

    def lent(self, r):
        """A stand-in that was made before."""
        return self.made[r.u32()]

    def named(self, r):
        """A function or class of the standard library or of an installed package, by name."""
        module, path = r.get()
        value = importlib.import_module(module)
        for part in path.split(".") if path else ():
            value = getattr(value, part)
        return value

    def library_value(self, r):
        """A value whose class is a library's subclass of a builtin type."""
        kind, plain = self.named(r), r.get()
        base = next(base for base in kind.__mro__ if base is type(plain))
        return base.__new__(kind, plain)

    def keep(self, number, value):
        """Remember a stand-in."""
        self.made[number] = value
        self.exports.lent[id(value)] = number
        return value

    def define(self, r):
        """Make a stand-in from its description."""
        number, form = r.u32(), chr(r.raw(1)[0])
        if form in "fa":
            return self.keep(number, self._function(number, r.get(), form == "a"))
        if form == "k":
            return self.keep(number, self._class(number, r))
        if form == "l":
            import logging

            return self.keep(number, logging.makeLogRecord(r.get()))
        if form == "n":
            return self._enum(number, *r.get())
        if form == "t":
            # A time zone of an installed package; what the judge sends can be trusted here.
            return self.keep(number, pickle.loads(r.get()))
        if form == "x":
            kind, args = r.get(), r.get()
            real = next(base for base in kind.__mro__ if base.__module__ == "builtins")
            error = real.__new__(kind, *args)
            real.__init__(error, *args)  # without it a StopIteration has no value at all, which the interpreter does not survive
            return self.keep(number, error)
        kind, plain = r.get(), r.get()
        base = next((base for base in kind.__mro__ if base is type(plain)), None)
        value = object.__new__(kind) if base is None or plain is None else base.__new__(kind, plain)
        if isinstance(plain, (list, set, dict)):
            base.__init__(value, plain)
        return self.keep(number, value)

    def _enum(self, number, name, base, mixed, rows):
        import enum

        base = getattr(enum, base)
        names = [(label, value) for label, value, _ in rows]
        kind = base(name, names, type=mixed) if mixed is not None and not issubclass(base, mixed) else base(name, names)
        for label, _, mark in rows:
            self.keep(mark, kind[label])
        return self.keep(number, kind)

    def _function(self, number, facts, is_async):
        ask = self.ask
        name, qualname, module, doc, params = facts
        if is_async:
            async def stand_in(*args, **kwargs):
                return ask("await", number, "", args, kwargs)
        else:
            def stand_in(*args, **kwargs):
                return ask("call", number, "", args, kwargs)
        stand_in.__name__, stand_in.__qualname__, stand_in.__module__, stand_in.__doc__ = name, qualname, module, doc
        if params is not None:
            import inspect

            made = []
            for label, kind, has_default, default in params:
                empty = inspect.Parameter.empty
                made.append(inspect.Parameter(label, inspect._ParameterKind(kind), default=default if has_default else empty))
            try:
                stand_in.__signature__ = inspect.Signature(made)
            except ValueError:
                pass
        return stand_in

    def _class(self, number, r):
        name, module, dunders, is_error = r.get()
        bases, abstract = r.get(), r.get()
        ask = self.ask
        space = {"__module__": module, "__qualname__": name}
        if is_error:
            return type(name, bases or (Exception,), space)
        for dunder in dunders:
            space[dunder] = _forward(ask, self.exports, dunder)
        if "__hash__" not in dunders and "__eq__" in dunders:
            space["__hash__"] = None

        def getter(this, label):
            mine = self.exports.lent.get(id(this))
            if mine is None or (label[:2] == "__" and label[-2:] == "__"):
                raise AttributeError(label)
            return ask("get", mine, label, (), {})

        def setter(this, label, value):
            ask("set", self.exports.lent[id(this)], label, (value,), {})

        def maker(kind, *args, **kwargs):
            return ask("call", number, "", args, kwargs)

        space["__getattr__"], space["__setattr__"] = getter, setter
        kind = type.__new__(_Lent, name, tuple(bases), space)
        kind_maker[kind] = maker
        kind_reader[kind] = lambda label: ask("get", number, label, (), {})
        for label in abstract:
            next(getattr(place, label) for place in (collections.abc, io, numbers, os) if hasattr(place, label)).register(kind)
        return kind


kind_maker = {}
kind_reader = {}


class _Lent(type):
    """The class of stand-in classes: calling one calls the judge's class."""

    def __call__(cls, *args, **kwargs):
        maker = kind_maker.get(cls)
        if maker is None:
            return super().__call__(*args, **kwargs)
        return maker(cls, *args, **kwargs)

    def __getattr__(cls, label):
        reader = kind_reader.get(cls)
        if reader is None or label[:2] == "__":
            raise AttributeError(label)
        return reader(label)


def _forward(ask, exports, dunder):
    if dunder == "__await__":
        def forward(this):
            if False:
                yield
            return ask("await", exports.lent[id(this)], "", (), {})
    elif dunder in ("__aenter__", "__aexit__", "__anext__"):
        async def forward(this, *args):
            return ask("awaitop", exports.lent[id(this)], dunder, args, {})
    else:
        def forward(this, *args, **kwargs):
            return ask("op", exports.lent[id(this)], dunder, args, kwargs)
    forward.__name__ = dunder
    return forward


def read_type(r):
    """A type that both sides know by name."""
    name = r.get()
    kind = BUILTIN_TYPES.get(name)
    if kind is None:
        kind = getattr(builtins, name, None) if type(name) is str else None
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise BadBytes("an unknown type")
    return kind


def read_pattern(r):
    """A compiled pattern."""
    import re

    pattern, flags = r.exact(str, bytes), r.exact(int)
    return re.compile(pattern, flags)


def read_zone(r):
    """A time zone by its key."""
    from zoneinfo import ZoneInfo

    return ZoneInfo(r.exact(str))


def forget(names):
    """Take modules out of ``sys.modules``."""
    for name in names:
        sys.modules.pop(name, None)
