"""What crosses between judge and subject by value, and what hostile bytes come to."""

from __future__ import annotations

import random
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest

from trivet.probe.split_codec import BadBytes, TooDeep, Writer
from trivet.probe.split_reader import Reader


def no_other(_writer: Writer, value: object) -> None:
    """Nothing but plain data here."""
    raise TypeError(type(value).__name__)


def written(value: object) -> bytes:
    """The bytes of a value."""
    writer = Writer(no_other)
    writer.put(value)
    return bytes(writer.out)


def read(data: bytes) -> Any:
    """The value of bytes, all of them."""
    reader = Reader(data, 0, {})
    value = reader.get()
    assert reader.pos == reader.end
    return value


VALUES = [
    *(None, True, False, ..., NotImplemented, 0, -1, 2**63, -(2**200), 1.5, float("inf"), -0.0, 1j, "", "añ\ud800", b"\x00", bytearray(b"x")),
    *((), (1, (2,)), [], [1, [2]], {1, 2}, frozenset({"a"}), {"a": [1], 2: None}, range(1, 9, 2), slice(1, None, 3)),
    *(OrderedDict(b=1, a=2), Counter("aab"), deque([1, 2], 5), defaultdict(None, a=1)),
    *(datetime(2026, 9, 22, 12, 0, 1, 5, tzinfo=UTC, fold=1), date(1, 1, 1), time(23, 59, tzinfo=timezone(timedelta(hours=2), "X"))),
    *(timedelta(days=-1, microseconds=3), Decimal("-1.50"), Decimal("NaN"), Fraction(-3, 7), UUID(int=5), PurePosixPath("/a/b")),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_values_cross_as_what_they_are(value: object) -> None:
    """The value that comes out has the same exact type and content."""
    again = read(written(value))
    assert type(again) is type(value)
    assert repr(again) == repr(value)


@pytest.mark.parametrize("base", [int, str, list, dict, Decimal, tuple, float])
def test_subclasses_are_never_taken_for_their_base(base: type) -> None:
    """An instance of a subclass is not plain."""
    with pytest.raises(TypeError):
        written(type("Liar", (base,), {"__eq__": lambda _self, _other: True, "__hash__": None})())


def test_mangled_bytes_never_do_harm() -> None:
    """Any bytes give a value or BadBytes, nothing else, and quickly."""
    rng = random.Random(5)
    good = written(VALUES)
    refused = 0
    for _ in range(3000):
        data = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            Reader(bytes(data[: rng.randrange(1, len(data) + 1)]), 0, {}).get()
        except BadBytes:
            refused += 1
    assert 2000 < refused < 3000


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\xff", b"i\x00", b"[\xff\xff\xff\xff", b"s\xff\xff\xff\xffabc", b"s\x01\x00\x00\x00\xff", b"%" + b"i" + b"\x01" + b"\x00" * 7 + b"i" + b"\x00" * 8,
        b"m\x03\x00\x00\x00abc", b"&\x00\x00\x00\x00", b"{\x01\x00\x00\x00[\x00\x00\x00\x00", b"D" + b"\xff" * 12 + b"N", b"I\xff\xff\xff\x7f",
    ],
)  # fmt: skip
def test_bad_bytes_are_refused(data: bytes) -> None:
    """Counts that lie, unknown tags, impossible values."""
    with pytest.raises(BadBytes):
        read(data)


def test_nesting_is_bounded_on_both_sides() -> None:
    """A value that is too deep is not written, and bytes that are too deep are not read."""
    deep: list[object] = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(TooDeep):
        written(deep)
    with pytest.raises(BadBytes):
        read(b"[\x01\x00\x00\x00" * 500 + b"N")


def test_a_container_that_was_sent_comes_back_as_itself() -> None:
    """The writer marks what the other side holds; the reader puts the held object in its place."""
    held = [1]
    writer = Writer(no_other, None, {id(held): 0})
    writer.put((held, [1]))
    first, second = Reader(bytes(writer.out), 0, {}, None, [held]).get()
    assert first is held
    assert second is not held
