"""Judge side: what the subject's answers become. The tags are those of ``split_export``; every name is looked up in a list of the judge's own."""

import enum
import re
import sys

from .split_codec import BUILTIN_TYPES, MAX_DEPTH, BadBytes
from .split_errors import RUNNERS, SubjectDecided, build, builtin_error, library_class
from .split_remote import Remote, RemoteMeta, mirror

STDLIB = frozenset(getattr(sys, "stdlib_module_names", ("http", "re", "socket", "signal", "enum", "uuid", "inspect", "decimal", "ssl")))
_set = object.__setattr__


class Take:
    """The reader's hooks."""

    def __init__(self, link):
        self.link = link
        self.derived = None

    def hooks(self):
        """Tag to hook."""
        return {
            ord("Y"): self.named_type, ord("C"): self.known_class, ord("U"): self.new_class, ord("O"): self.reference, ord("@"): self.shared,
            ord("x"): self.error, ord("j"): self.lent, ord("E"): self.member, ord("R"): self.pattern, ord("G"): self.zone,
        }

    @staticmethod
    def named_type(r):
        """A type that both sides know."""
        name = r.exact(str)
        kind = BUILTIN_TYPES.get(name) or builtin_error(name)
        if kind is None:
            raise BadBytes("an unknown type")
        return kind

    def known_class(self, r):
        """A class that was described before."""
        kind = self.link.current_session.find(r.u32())
        if not isinstance(kind, type):
            raise BadBytes("a class that was not described")
        return kind

    def _class(self, r):
        tag = r.raw(1)[0]
        hook = {89: self.named_type, 67: self.known_class, 85: self.new_class}.get(tag)
        if hook is None:
            raise BadBytes("a class was announced")
        return hook(r)

    def new_class(self, r):
        """A class with its description."""
        number = r.u32()
        session = self.link.current_session
        facts = r.exact(tuple)
        if len(facts) != 4 or [type(fact) for fact in facts[:2]] != [str, str] or type(facts[2]) not in (str, type(None)):
            raise BadBytes("a class without a name")
        r.depth += 1
        if r.depth > MAX_DEPTH:
            raise BadBytes("nested too deeply")
        bases = tuple(self._base(self._class(r)) for _ in range(r.count()))
        r.depth -= 1
        bases = tuple(base for base in dict.fromkeys(bases) if base is not Remote)
        members, flags = r.exact(tuple), r.exact(dict)
        known = session.find(number)
        if known is not None:
            return known
        real = None if facts[3] else library_class(facts[0], facts[1], self.link.served)
        if real is not None and issubclass(real, BaseException):
            session.keep(number, real)
            return real
        if self.derived is not None and self.derived._tv_number is None and facts[1] == self.derived.__qualname__:
            kind = self.derived
            kind._tv_number = number
        else:
            try:
                kind = mirror(number, facts, bases, members, self._flags(flags))
            except (TypeError, ValueError) as problem:
                raise BadBytes("a class that cannot be mirrored: %s" % problem) from None
        kind._tv_home = session.generation if number > session.border else 0
        session.keep(number, kind)
        (session if number > session.border or session.parent is None else session.parent).proxies[number] = kind
        return kind

    @staticmethod
    def _base(kind):
        if kind in (KeyboardInterrupt, GeneratorExit):
            return Exception
        if kind in (bool, type, object, type(None)) or kind in (range, slice, memoryview, type(...), type(NotImplemented)):
            return Remote if kind is not bool else int
        return kind

    @staticmethod
    def _flags(flags):
        mode, fields, named = flags.get("eq"), flags.get("fields"), flags.get("named")
        if mode not in ("object", "fields", "own"):
            raise BadBytes("an unknown kind of equality")
        return {
            "eq": mode, "meta": flags.get("meta") if type(flags.get("meta")) is str else "",
            "fields": fields if type(fields) is tuple else None, "named": named if type(named) is tuple else None,
        }

    def reference(self, r):
        """An object by reference."""
        number = r.u32()
        r.depth += 1
        if r.depth > MAX_DEPTH:
            raise BadBytes("nested too deeply")
        kind = self._class(r)
        part = r.raw(1)
        plain = held = None
        if part == b"v":
            plain = r.get()
        elif part == b"f":
            held = r.exact(tuple)
        elif part != b"-":
            raise BadBytes("an unknown kind of reference")
        r.depth -= 1
        session = self.link.current_session
        known = session.find(number)
        if getattr(type(known), "_tv_module", False):
            return known
        if known is not None and type(known) is kind:
            if part == b"v":
                _refill(known, plain)
            return known
        if not isinstance(kind, RemoteMeta):
            raise BadBytes("a reference to a plain value")
        value = self._make(kind, plain)
        home = session.parent if session.parent is not None and number <= session.border else session
        value_ref = (home, number)
        _set(value, "_tv_ref", value_ref)
        if held:
            for pair in held:
                if type(pair) is tuple and len(pair) == 2 and type(pair[0]) is str and pair[0].isidentifier() and not pair[0].startswith("_"):
                    _set(value, pair[0], pair[1])
        session.keep(number, value)
        return value

    @staticmethod
    def _make(kind, plain):
        base = type(plain)
        if plain is None or base not in kind.__mro__:
            real = next((base for base in kind.__mro__ if not isinstance(base, RemoteMeta) and base is not Remote), object)
            if plain is not None or (real is not object and real.__module__ == "builtins" and issubclass(real, BaseException)):
                raise BadBytes("a value that its class does not hold")
            try:
                return real.__new__(kind)
            except TypeError as problem:
                raise BadBytes("an object that cannot be made: %s" % problem) from None
        value = base.__new__(kind, plain) if base not in (dict, list, set) else base.__new__(kind)
        if base in (list, set, dict):
            base.__init__(value, plain)
        return value

    def shared(self, r):
        """A container that an attribute holds: changes here are carried over there."""
        from .split_shared import SHARED

        number = r.u32()
        plain = r.get()
        kind = SHARED.get(type(plain))
        if kind is None:
            raise BadBytes("a shared value of another type")
        session = self.link.current_session
        value = session.find(number)
        if type(value) is kind:
            _refill(value, plain)
            return value
        value = kind(plain)
        home = session.parent if session.parent is not None and number <= session.border else session
        value._tv_ref = (home, number)
        session.keep(number, value)
        return value

    def lent(self, r):
        """Something that the judge lent."""
        return self.link.lender.find(r.u32())

    def error(self, r):
        """An exception."""
        number = r.u32()
        r.depth += 1
        if r.depth > MAX_DEPTH:
            raise BadBytes("nested too deeply")
        kind = self._class(r)
        args, text, held = r.exact(tuple), r.exact(str, type(None)), r.exact(dict)
        notes = r.exact(tuple)
        linked = []
        for _ in range(2):
            other = r.get()
            if other is not None and not isinstance(other, BaseException):
                raise BadBytes("an exception was announced")
            linked.append(other)
        r.depth -= 1
        if not issubclass(kind, BaseException):
            raise BadBytes("an exception that is none")
        if kind.__module__.partition(".")[0] in RUNNERS:
            return SubjectDecided("the source raised %s: %s" % (kind.__qualname__, text))
        session = self.link.current_session
        known = session.find(number)
        if isinstance(known, kind):
            return known
        error = build(kind, args, text, held, [note for note in notes if type(note) is str], *linked)
        home = session.parent if session.parent is not None and number <= session.border else session
        if isinstance(kind, RemoteMeta) and type(error) is kind:
            _set(error, "_tv_ref", (home, number))
        home.proxies[number] = error
        home.highest = max(home.highest, number)
        return error

    @staticmethod
    def member(r):
        """A member of an enumeration of the standard library."""
        found = r.exact(tuple)
        if len(found) != 3 or not all(type(part) is str for part in found):
            raise BadBytes("a member was announced")
        module, qualname, name = found
        if module.partition(".")[0] not in STDLIB or module.partition(".")[0] in RUNNERS or module not in sys.modules:
            raise BadBytes("a member of an unknown enumeration")
        kind = getattr(sys.modules[module], qualname, None)
        if not (isinstance(kind, type) and issubclass(kind, enum.Enum)) or name not in kind.__members__:
            raise BadBytes("an unknown member")
        return kind.__members__[name]

    @staticmethod
    def pattern(r):
        """A compiled pattern."""
        try:
            return re.compile(r.exact(str, bytes), r.exact(int))
        except (re.error, ValueError, OverflowError) as problem:
            raise BadBytes("a bad pattern: %s" % problem) from None

    @staticmethod
    def zone(r):
        """A time zone by key."""
        import zoneinfo

        try:
            return zoneinfo.ZoneInfo(r.exact(str))
        except (ValueError, OSError, KeyError) as problem:
            raise BadBytes("a bad time zone: %s" % problem) from None


def _refill(value, plain):
    """Bring a container up to date."""
    if isinstance(value, list) and type(plain) is list:
        list.__setitem__(value, slice(None), plain)
    elif isinstance(value, (dict, set)) and isinstance(plain, (dict, set)):
        base = dict if isinstance(value, dict) else set
        base.clear(value)
        base.update(value, plain)

