"""What an altered test is given instead of the value that it expects.

``Alter`` is the object that stands among the constants of an altered test. It says that the altered assertion was reached, and answers
with another value of the same type (``slight``: the next one, ``gross``: a far one), with something equal to nothing (``sentinel``), or with
a private exception. References to the standard types are taken when this module is loaded, before any code under test.
"""

import datetime as dt
import enum
import fractions
import math
import os
import pathlib
from decimal import Context, Decimal

_CONTEXT = Context(prec=200, Emax=999999, Emin=-999999, traps=[])
_isfinite, _fsencode = math.isfinite, os.fsencode
_Fraction, _timedelta = fractions.Fraction, dt.timedelta
_PLAIN = (int, float, complex, str, bytes, bool, Decimal, fractions.Fraction, dt.datetime, dt.date, dt.time, dt.timedelta, type(None))


class Unknown(Exception):
    """No other value of this type can be made."""


class Alter:
    """The voice of one negative control inside of an altered test."""

    __slots__ = ("_note",)

    def __init__(self, tell):
        """``tell(text)`` is called each time the altered assertion is evaluated."""
        self._note = tell

    def slight(self, value):
        """Another value of the same type, as near as it can be."""
        return self._value(value, False)

    def gross(self, value):
        """Another value of the same type, far off."""
        return self._value(value, True)

    def _value(self, value, gross):
        try:
            new = other(value, gross)
        except Exception:
            self._note("expected value replaced by an object that is equal to nothing")
            return object()
        self._note(f"expected value {_text(value)} replaced by {_text(new)}")
        return new

    def sentinel(self, value):
        """Something that is equal to nothing and has no order."""
        self._note("expected value replaced by an object that is equal to nothing")
        return object()

    def member(self, value):
        """Something that is in no container; a text for a text, since only texts may be looked for in texts."""
        self._note("looked for something that is nowhere")
        if isinstance(value, str):
            return "\ue0f3" + str.__str__(value) + "\ue0f7"
        if isinstance(value, (bytes, bytearray)):
            return b"\xf7\x00\xf3" + bytes(value) + b"\xf3"
        return object()

    def holder(self, value):
        """A container of the same kind in which nothing is found."""
        self._note("looked into a container that holds nothing known")
        if isinstance(value, str):
            return "\ue0f3"
        if isinstance(value, bytes):
            return b"\xf7\x00\xf3"
        return (object(),)

    def kind(self, value):
        """A class of which nothing is an instance."""
        self._note("class replaced by one without instances")
        return type("object", (), {})

    def see(self, value):
        """The value itself; the tree around it negates it."""
        self._note("condition negated")
        return value

    def error(self, value):
        """A private exception class."""
        self._note("awaited exception replaced by a private class")
        return type("Exception", (Exception,), {})

    def warning(self, value):
        """A private warning class."""
        self._note("awaited warning replaced by a private class")
        return type("Warning", (UserWarning,), {})

    def intruder(self, value):
        """An exception that no one awaits."""
        self._note("awaited block raises a private exception")
        return type("Exception", (Exception,), {})()

    def canary(self, value):
        """False."""
        self._note("a failing assertion put in front")
        return False


def other(value, gross):
    """Make another value of the type of ``value``: never equal to it, near or far.

    Raises:
        Unknown: of that type no other value is known.
    """
    for kind in type(value).__mro__:
        make = _MAKERS.get(kind)
        if make is not None:
            return make(value, gross)
    if hasattr(type(value), "__dataclass_fields__"):
        return _dataclass(value, gross)
    if type(value).__module__.startswith("numpy") and hasattr(value, "dtype"):
        return value + (1 if gross or value.dtype.kind in "iu" else abs(value) * 1e-6 + 1e-9)
    if type(value).__module__ in ("_pytest.python_api", "_pytest.approx") and hasattr(value, "expected"):
        return _approx(value, gross)
    raise Unknown(type(value).__name__)


def _int(value, gross):
    return int.__add__(value, 1000003) if gross else int.__add__(value, 1)


def _float(value, gross):
    plain = float.__add__(value, 0.0)
    if not _isfinite(plain):
        return 0.5
    new = plain * 2 + 1 if gross else plain * (1 + 1e-6) if plain else 1e-6
    return new if new != plain else plain + 1.0


def _complex(value, gross):
    return complex.__add__(value, complex(1000.5 if gross else 1e-6 * max(1.0, abs(value)), 0))


def _str(value, gross):
    plain = str.__str__(value)
    if gross:
        return plain[::-1] + "~" + plain
    for at in range(len(plain) - 1, -1, -1):
        char = plain[at]
        if "0" <= char <= "8" or "a" <= char <= "y" or "A" <= char <= "Y":
            return plain[:at] + chr(ord(char) + 1) + plain[at + 1:]
        if char in "9zZ":
            return plain[:at] + {"9": "8", "z": "y", "Z": "Y"}[char] + plain[at + 1:]
    return plain + "x"


def _bytes(value, gross):
    plain = bytes(value)
    new = plain[::-1] + b"~" + plain if gross or not plain else plain[:-1] + bytes([plain[-1] ^ 1])
    return bytearray(new) if isinstance(value, bytearray) else new


def _bool(value, gross):
    return not value


def _decimal(value, gross):
    plain = Decimal(Decimal.__str__(value))
    if not plain.is_finite():
        return Decimal("0.5")
    if gross:
        return _CONTEXT.add(_CONTEXT.multiply(plain, Decimal(2)), Decimal(1000))
    return _CONTEXT.add(plain, Decimal((0, (1,), plain.as_tuple().exponent)))


def _fraction(value, gross):
    plain = _Fraction(value.numerator, value.denominator)
    return plain * 2 + 1 if gross else plain + _Fraction(1, 1000003)


def _datetime(value, gross):
    step = _timedelta(days=400) if gross else _timedelta(microseconds=1)
    return _moved(value, step)


def _date(value, gross):
    return _moved(value, _timedelta(days=400 if gross else 1))


def _moved(value, step):
    try:
        return value + step
    except OverflowError:
        return value - step


def _time(value, gross):
    return value.replace(hour=(value.hour + 11) % 24) if gross else value.replace(microsecond=(value.microsecond + 1) % 1000000)


def _delta(value, gross):
    return _moved(value, _timedelta(days=40, seconds=7) if gross else _timedelta(microseconds=1))


def _list(value, gross):
    return _items(list(list.__iter__(value)), gross)


def _tuple(value, gross):
    items = _items(list(tuple.__iter__(value)), gross and type(value) is tuple)
    if type(value) is tuple:
        return tuple(items)
    if hasattr(value, "_make"):
        return type(value)._make(items)
    return tuple(items)


def _items(items, gross):
    """Alter the last item that can be; far: swap the ends and add one."""
    if not items:
        return [0]
    if gross:
        return [*items[::-1], items[0]]
    for at in range(len(items) - 1, -1, -1):
        try:
            items[at] = other(items[at], False)
        except Exception:
            continue
        return items
    items[-1] = object()
    return items


def _dict(value, gross):
    items = list(dict.items(value))
    if gross and len(items) > 1:
        new = dict(items[:-1])
    elif not items:
        new = {0: 0}
    else:
        values = _items([entry for _, entry in items], False)
        new = dict(zip([key for key, _ in items], values))
    return new


def _set(value, gross):
    items = sorted(set(value), key=repr) if all(type(item) in _PLAIN for item in value) else list(value)
    if gross and len(items) > 1:
        new = items[:-1]
    else:
        try:
            extra = other(items[-1], False)
        except (Unknown, IndexError):
            extra = object()
        new = [*items, extra] if extra not in items else items[:-1]
    return frozenset(new) if isinstance(value, frozenset) else set(new)


def _range(value, gross):
    if not len(value):
        return range(value.start, value.start + 1)
    return range(value.start, value.stop + value.step * (7 if gross else 1), value.step)


def _enum(value, gross):
    members = [member for member in type(value) if member is not value]
    if not members:
        raise Unknown(type(value).__name__)
    return members[-1 if gross else 0]


def _path(value, gross):
    return type(value)(str(value) + ("~/~" if gross else "~"))


def _dataclass(value, gross):
    import dataclasses

    fields = [field for field in dataclasses.fields(value) if field.init and field.compare]
    for field in reversed(fields):
        try:
            return dataclasses.replace(value, **{field.name: other(getattr(value, field.name), gross)})
        except Exception:
            continue
    raise Unknown(type(value).__name__)


def _approx(value, gross):
    """An approximate value whose tolerance does not reach the old one."""
    expected, options = value.expected, {name: getattr(value, name, None) for name in ("rel", "abs", "nan_ok")}

    def beyond(one):
        one = float(one) if isinstance(one, int) else one
        tolerance = value._approx_scalar(one).tolerance if hasattr(value, "_approx_scalar") else value.tolerance
        return one + type(one)(float(tolerance) * 4 + (abs(float(one)) + 1000 if gross else abs(float(one)) * 1e-6 + 1e-9))

    if isinstance(expected, dict):
        key = list(expected)[-1]
        return type(value)({**expected, key: beyond(expected[key])}, **options)
    if isinstance(expected, (list, tuple)):
        return type(value)(type(expected)([*expected[:-1], beyond(expected[-1])]), **options)
    if isinstance(expected, (int, float, Decimal)):
        return type(value)(beyond(expected), **options)
    raise Unknown(type(value).__name__)


_MAKERS = {
    bool: _bool, int: _int, float: _float, complex: _complex, str: _str, bytes: _bytes, bytearray: _bytes, Decimal: _decimal,
    fractions.Fraction: _fraction, dt.datetime: _datetime, dt.date: _date, dt.time: _time, dt.timedelta: _delta, list: _list, tuple: _tuple,
    dict: _dict, set: _set, frozenset: _set, range: _range, enum.Enum: _enum, pathlib.PurePath: _path,
}


def _text(value, limit=80):
    """A bounded text of a plain value; the type's name of anything else, so that no code under test is called."""
    if type(value) in _PLAIN or (type(value) in (list, tuple, dict, set) and _plain(value, 3)):
        return repr(value)[:limit]
    return f"<{type(value).__name__}>"


def _plain(value, depth):
    if type(value) in _PLAIN:
        return True
    if depth == 0:
        return False
    if type(value) in (list, tuple, set):
        return all(_plain(item, depth - 1) for item in value)
    return type(value) is dict and all(_plain(key, depth - 1) and _plain(item, depth - 1) for key, item in value.items())
