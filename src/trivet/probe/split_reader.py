"""Reads what ``split_codec`` writes. Both sides load this file, and what the subject sends is hostile.

The reader knows exact builtin and standard types only, never builds an object by a name that it did not list itself, and bounds counts by the
bytes that are left and nesting by ``MAX_DEPTH``. Tags that are not plain are read by the hooks that the side registered.
"""

from collections import Counter, OrderedDict, defaultdict, deque
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PosixPath, PurePosixPath, PureWindowsPath
from uuid import UUID

from .split_codec import F64, I64, MAX_DEPTH, MAX_DIGITS, PAIR, SPAN, STAMP, BadBytes, unpack_u32


class Reader:
    """Reads one message; ``hooks`` maps further tags to ``hook(reader)``; ``note`` collects the mutable containers in reading order."""

    __slots__ = ("buf", "depth", "end", "fix_text", "hooks", "known", "note", "pos", "side")

    def __init__(self, buf, pos, hooks, note=None, known=None, fix_text=None, side=None):
        self.buf = buf
        self.pos = pos
        self.end = len(buf)
        self.hooks = hooks
        self.note = note
        self.known = known
        self.fix_text = fix_text
        self.depth = 0
        self.side = side

    def get(self):
        """Read one value; raises BadBytes."""
        pos = self.pos
        if pos >= self.end:
            raise BadBytes("the message ends early")
        self.pos = pos + 1
        reader = _GET[self.buf[pos]]
        if reader is None:
            reader = self.hooks.get(self.buf[pos])
            if reader is None:
                raise BadBytes("unknown tag %d" % self.buf[pos])
        return reader(self)

    def raw(self, length):
        """Take bytes."""
        pos = self.pos
        if length > self.end - pos:
            raise BadBytes("the message ends early")
        self.pos = pos + length
        return self.buf[pos:pos + length]

    def u32(self):
        """Take an unsigned number of four bytes."""
        pos = self.pos
        if pos + 4 > self.end:
            raise BadBytes("the message ends early")
        self.pos = pos + 4
        return unpack_u32(self.buf, pos)[0]

    def count(self):
        """Take a count of values to come; each has at least one byte."""
        number = self.u32()
        if number > self.end - self.pos:
            raise BadBytes("more values than bytes")
        return number

    def fields(self, form):
        """Take a fixed record."""
        return form.unpack(self.raw(form.size))

    def many(self):
        """Take counted values."""
        number = self.count()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise BadBytes("nested too deeply")
        get = self.get
        found = [get() for _ in range(number)]
        self.depth -= 1
        return found

    def pairs(self):
        """Take counted pairs."""
        number = self.count()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise BadBytes("nested too deeply")
        get = self.get
        found = [(get(), get()) for _ in range(number)]
        self.depth -= 1
        return found

    def exact(self, *types):
        """Take a value of one of these exact types."""
        value = self.get()
        if type(value) not in types:
            raise BadBytes("a value of another type was announced")
        return value

    def noted(self, make):
        """Read a mutable container, registered before its content as the writer did."""
        if self.note is None:
            return make(self)
        index = len(self.note)
        self.note.append(None)
        value = make(self)
        self.note[index] = value
        return value


def _get_int(r):
    pos = r.pos
    if pos + 8 > r.end:
        raise BadBytes("the message ends early")
    r.pos = pos + 8
    return I64.unpack_from(r.buf, pos)[0]


def _get_big(r):
    length = r.u32()
    if length > MAX_DIGITS:
        raise BadBytes("an integer is too long")
    return int.from_bytes(r.raw(length), "little", signed=True)


def _get_float(r):
    return F64.unpack(r.raw(8))[0]


def _get_complex(r):
    return complex(*r.fields(PAIR))


def _get_str(r):
    raw = r.raw(r.u32())
    try:
        value = str(raw, "utf-8")
    except UnicodeDecodeError:
        try:
            value = str(raw, "utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise BadBytes("text that is no UTF-8") from None
    return value if r.fix_text is None else r.fix_text(value)


def _hashed(make):
    def read(r):
        try:
            return make(r)
        except (TypeError, ValueError, OverflowError, ArithmeticError, KeyError, AttributeError) as error:
            raise BadBytes("%s: %s" % (type(error).__name__, error)) from None

    return read


def _get_decimal(r):
    length = r.u32()
    if length > MAX_DIGITS:
        raise BadBytes("a decimal is too long")
    return Decimal(str(r.raw(length), "ascii"))


def _get_datetime(r):
    year, month, day, hour, minute, second, micro, fold = r.fields(STAMP)
    return datetime(year, month, day, hour, minute, second, micro, r.get(), fold=fold)


def _get_time(r):
    _, _, _, hour, minute, second, micro, fold = r.fields(STAMP)
    return time(hour, minute, second, micro, r.get(), fold=fold)


def _get_zone(r):
    offset, name = r.exact(timedelta), r.exact(str, type(None))
    return timezone(offset) if name is None else timezone(offset, name)


def _get_known(r):
    index = r.u32()
    if r.known is None or index >= len(r.known):
        raise BadBytes("a mark for a container that was not sent")
    return r.known[index]


def _get_tag(r):
    if r.raw(1) != b"l":
        raise BadBytes("a span of time was announced")
    return timedelta(*r.fields(SPAN))


_READERS = {
    b"N": lambda r: None, b"T": lambda r: True, b"F": lambda r: False, b"i": _get_int, b"I": _get_big, b"d": _get_float,
    b"c": _get_complex, b"s": _get_str, b"b": lambda r: bytes(r.raw(r.u32())),
    b"B": lambda r: r.noted(lambda r: bytearray(r.raw(r.u32()))), b"(": lambda r: tuple(r.many()),
    b"<": _hashed(lambda r: frozenset(r.many())), b"[": lambda r: r.noted(Reader.many),
    b"{": _hashed(lambda r: r.noted(lambda r: set(r.many()))),
    b"q": _hashed(lambda r: r.noted(_deque)), b":": _hashed(lambda r: r.noted(lambda r: dict(r.pairs()))),
    b"o": _hashed(lambda r: r.noted(lambda r: OrderedDict(r.pairs()))),
    b"n": _hashed(lambda r: r.noted(lambda r: Counter(dict(r.pairs())))), b"a": _hashed(lambda r: r.noted(_default)),
    b"1": _hashed(lambda r: dict.fromkeys(r.many()).keys()), b"2": lambda r: dict(enumerate(r.many())).values(),
    b"3": _hashed(lambda r: dict(r.many()).items()),
    b"r": _hashed(lambda r: range(r.exact(int), r.exact(int), r.exact(int))), b"/": lambda r: slice(r.get(), r.get(), r.get()),
    b"D": _hashed(_get_datetime), b"y": _hashed(lambda r: date(*r.fields(STAMP)[:3])), b"t": _hashed(_get_time),
    b"l": _hashed(lambda r: timedelta(*r.fields(SPAN))), b"Z": lambda r: timezone.utc, b"z": _hashed(_get_zone),
    b"m": _hashed(_get_decimal), b"%": _hashed(lambda r: Fraction(r.exact(int), r.exact(int))),
    b"u": lambda r: UUID(bytes=bytes(r.raw(16))), b"P": lambda r: PosixPath(r.exact(str)), b"p": lambda r: PurePosixPath(r.exact(str)),
    b"w": lambda r: PureWindowsPath(r.exact(str)), b".": lambda r: ..., b"!": lambda r: NotImplemented, b"&": _get_known,
}


def _deque(r):
    longest = r.exact(int, type(None))
    if r.raw(1) != b"[":
        raise BadBytes("items were announced")
    return deque(r.many(), longest)


def _default(r):
    factory = r.get()
    if r.raw(1) != b":":
        raise BadBytes("pairs were announced")
    return defaultdict(factory, r.pairs())


_GET = [_READERS.get(bytes([tag])) for tag in range(256)]
