"""The bytes that cross between judge and subject: how plain values are written, by exact type. Both sides load this file.

Anything that is not plain is written by the ``other`` hook of the side. ``split_reader`` reads it back.
"""

import struct
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import PosixPath, PurePath, PurePosixPath, PureWindowsPath
from uuid import UUID

MAX_DEPTH = 120
"""Deepest nesting that is read or written."""
MAX_DIGITS = 100_000
"""Longest integer in bytes, longest decimal text in characters."""

_u32 = struct.Struct("<I")
I64 = struct.Struct("<q")
F64 = struct.Struct("<d")
PAIR = struct.Struct("<dd")
STAMP = struct.Struct("<HBBBBBIB")
SPAN = struct.Struct("<iii")
pack_u32, unpack_u32 = _u32.pack, _u32.unpack_from


class BadBytes(Exception):
    """The other side sent what the protocol does not know."""


class TooDeep(Exception):
    """A value is nested too deeply, or contains itself."""


# --- writing --------------------------------------------------------------------------------------


def _put_none(w, value):
    w.out += b"N"


def _put_bool(w, value):
    w.out += b"T" if value else b"F"


def _put_int(w, value):
    if -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
        w.out += b"i" + I64.pack(value)
    else:
        raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        w.out += b"I" + pack_u32(len(raw)) + raw


def _put_float(w, value):
    w.out += b"d" + F64.pack(value)


def _put_complex(w, value):
    w.out += b"c" + PAIR.pack(value.real, value.imag)


def _put_str(w, value):
    if w.fix_text is not None:
        value = w.fix_text(value)
    try:
        raw = value.encode()
    except UnicodeEncodeError:
        raw = value.encode("utf-8", "surrogatepass")
    w.out += b"s" + pack_u32(len(raw)) + raw


def _put_bytes(w, value):
    w.out += b"b" + pack_u32(len(value)) + value


def _put_bytearray(w, value):
    if w.seen(value):
        return
    w.out += b"B" + pack_u32(len(value)) + value


def _put_items(w, tag, value):
    w.out += tag + pack_u32(len(value))
    w.deeper()
    for item in value:
        w.put(item)
    w.depth -= 1


def _put_tuple(w, value):
    _put_items(w, b"(", value)


def _put_frozenset(w, value):
    _put_items(w, b"<", value)


def _put_list(w, value):
    if not w.seen(value):
        _put_items(w, b"[", value)


def _put_set(w, value):
    if not w.seen(value):
        _put_items(w, b"{", value)


def _put_deque(w, value):
    if not w.seen(value):
        w.out += b"q"
        w.put(value.maxlen)
        _put_items(w, b"[", value)


def _put_pairs(w, tag, value):
    w.out += tag + pack_u32(len(value))
    w.deeper()
    for key, item in value.items():
        w.put(key)
        w.put(item)
    w.depth -= 1


def _put_dict(w, value):
    if not w.seen(value):
        _put_pairs(w, b":", value)


def _put_ordered(w, value):
    if not w.seen(value):
        _put_pairs(w, b"o", value)


def _put_counter(w, value):
    if not w.seen(value):
        _put_pairs(w, b"n", value)


def _put_default(w, value):
    if not w.seen(value):
        w.out += b"a"
        w.put(value.default_factory)
        _put_pairs(w, b":", value)


def _put_keys(w, value):
    _put_items(w, b"1", value)


def _put_values(w, value):
    _put_items(w, b"2", value)


def _put_pairs_view(w, value):
    _put_items(w, b"3", value)


def _put_range(w, value):
    w.out += b"r"
    for part in (value.start, value.stop, value.step):
        _put_int(w, part)


def _put_slice(w, value):
    w.out += b"/"
    for part in (value.start, value.stop, value.step):
        w.put(part)


def _put_zone(w, zone):
    w.put(zone)


def _put_datetime(w, value):
    w.out += b"D" + STAMP.pack(
        value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond, value.fold
    )
    _put_zone(w, value.tzinfo)


def _put_date(w, value):
    w.out += b"y" + STAMP.pack(value.year, value.month, value.day, 0, 0, 0, 0, 0)


def _put_time(w, value):
    w.out += b"t" + STAMP.pack(0, 0, 0, value.hour, value.minute, value.second, value.microsecond, value.fold)
    _put_zone(w, value.tzinfo)


def _put_timedelta(w, value):
    w.out += b"l" + SPAN.pack(value.days, value.seconds, value.microseconds)


def _put_timezone(w, value):
    if value is timezone.utc:
        w.out += b"Z"
        return
    offset, name = value.__getinitargs__()[0], value.__getinitargs__()[1:]
    w.out += b"z"
    _put_timedelta(w, offset)
    w.put(name[0] if name else None)


def _put_decimal(w, value):
    raw = str(value).encode()
    w.out += b"m" + pack_u32(len(raw)) + raw


def _put_fraction(w, value):
    w.out += b"%"
    _put_int(w, value.numerator)
    _put_int(w, value.denominator)


def _put_uuid(w, value):
    w.out += b"u" + value.bytes


_PATHS = {PosixPath: b"P", PurePosixPath: b"p", PureWindowsPath: b"w"}


def _put_path(w, value):
    w.out += _PATHS[type(value)]
    _put_str(w, str(value))


def _put_ellipsis(w, value):
    w.out += b"."


def _put_not_implemented(w, value):
    w.out += b"!"


PLAIN = {
    type(None): _put_none, bool: _put_bool, int: _put_int, float: _put_float, complex: _put_complex, str: _put_str, bytes: _put_bytes,
    bytearray: _put_bytearray, tuple: _put_tuple, frozenset: _put_frozenset, list: _put_list, set: _put_set, deque: _put_deque, dict: _put_dict,
    OrderedDict: _put_ordered, Counter: _put_counter, defaultdict: _put_default, type({}.keys()): _put_keys, type({}.values()): _put_values,
    type({}.items()): _put_pairs_view, range: _put_range, slice: _put_slice, datetime: _put_datetime, date: _put_date, time: _put_time,
    timedelta: _put_timedelta, timezone: _put_timezone, Decimal: _put_decimal, Fraction: _put_fraction, UUID: _put_uuid, PosixPath: _put_path,
    PurePosixPath: _put_path, PureWindowsPath: _put_path, type(...): _put_ellipsis, type(NotImplemented): _put_not_implemented,
}
"""How each exact type is written. A subclass is not in this table and never crosses as if it were its base."""

SCALARS = frozenset({type(None), bool, int, float, complex, str, bytes, Decimal, Fraction, UUID, datetime, date, time, timedelta, timezone})
"""Types whose values hold no others."""

MUTABLE = (list, set, dict, bytearray, deque, OrderedDict, Counter, defaultdict)
"""Types whose content is carried back into the caller's own object when a call has changed it."""


class Writer:
    """Writes one message. ``other(writer, value)`` writes what is not plain; ``note`` collects the mutable containers in writing order."""

    __slots__ = ("depth", "fix_text", "known", "note", "other", "out")

    def __init__(self, other, note=None, known=None, fix_text=None):
        self.out = bytearray()
        self.other = other
        self.note = note
        self.known = known
        self.fix_text = fix_text
        self.depth = 0

    def put(self, value):
        """Write one value."""
        writer = PLAIN.get(type(value))
        if writer is None:
            self.other(self, value)
        else:
            writer(self, value)

    def deeper(self):
        """Enter a container."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooDeep

    def seen(self, value):
        """Register a mutable container, or write a mark for one that the other side already holds."""
        if self.note is not None:
            self.note.append(value)
        elif self.known:
            index = self.known.get(id(value))
            if index is not None:
                self.out += b"&" + pack_u32(index)
                return True
        return False


BUILTIN_TYPES = {
    kind.__name__: kind
    for kind in (
        type(None), bool, int, float, complex, str, bytes, bytearray, tuple, frozenset, list, set, dict, range, slice, object, type, deque,
        OrderedDict, Counter, defaultdict, datetime, date, time, timedelta, timezone, Decimal, Fraction, UUID, PosixPath, PurePosixPath,
        PureWindowsPath, PurePath, memoryview, type(...), type(NotImplemented), property, staticmethod, classmethod, super, tzinfo,
    )
}
"""Types that cross as themselves, by name, in both directions."""
TYPE_NAMES = {kind: name for name, kind in BUILTIN_TYPES.items()}
