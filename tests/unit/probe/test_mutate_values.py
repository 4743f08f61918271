"""Other values of the same type."""

import datetime as dt
import enum
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivet.probe import mutate_values

Pair = namedtuple("Pair", "left right")  # noqa: PYI024


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Amount:
    cents: int
    currency: str = "EUR"


VALUES = [
    0, -7, 10**30, True, 0.0, 2.5, float("inf"), float("nan"), 1 + 2j, "", "abc", "9z", "0.12", b"", b"ab", bytearray(b"x"), Decimal("0.00"),
    Decimal("NaN"), Decimal("1E+40"), Fraction(1, 3), dt.datetime(2026, 1, 2, tzinfo=dt.UTC), dt.datetime.max.replace(tzinfo=dt.UTC), dt.date(2026, 1, 2), dt.date.max,
    dt.time(1, 2), dt.timedelta(0), dt.timedelta.max, [], [1], [1, [2]], (), (1, "a"), Pair(1, 2), {}, {"a": 1}, {"a": {"b": [1]}}, OrderedDict(a=1, b=2),
    set(), {1, 2}, frozenset("ab"), range(0), range(3), range(5, 1, -2), Colour.RED, PurePosixPath("a/b"), Amount(3), [object()],
]


@pytest.mark.parametrize("gross", [False, True])
@pytest.mark.parametrize("value", VALUES, ids=[f"{number}-{type(value).__name__}" for number, value in enumerate(VALUES)])
def test_another_value_has_the_same_base_type_and_is_not_equal(value, gross):
    new = mutate_values.other(value, gross)
    assert new != value
    assert isinstance(new, type(value)) or isinstance(value, type(new)), (type(new), type(value))


@given(st.one_of(st.integers(), st.floats(), st.text(), st.binary(), st.decimals(allow_nan=False), st.fractions(), st.datetimes(), st.lists(st.integers())), st.booleans())
def test_no_value_is_altered_into_itself(value, gross):
    assert mutate_values.other(value, gross) != value


def test_a_slight_alteration_of_a_number_is_the_next_one():
    assert mutate_values.other(5, False) == 6
    assert mutate_values.other("0.12", False) == "0.13"
    assert mutate_values.other(Decimal("0.10"), False) == Decimal("0.11")
    assert mutate_values.other([1, 2], False) == [1, 3]


def test_a_value_that_equals_everything_is_replaced_by_a_plain_one():
    class Liar(int):
        def __eq__(self, other):
            return True

        __hash__ = int.__hash__

    assert type(mutate_values.other(Liar(4), False)) is int


def test_an_approximate_value_moves_out_of_its_tolerance():
    for value in (pytest.approx(3.0, rel=0.1), pytest.approx(0.0), pytest.approx(5, abs=2), pytest.approx([1.0, 2.0]), pytest.approx({"a": 1.0})):
        old = value.expected
        assert old != mutate_values.other(value, False)
        assert old != mutate_values.other(value, True)


def test_unknown_types_become_something_equal_to_nothing():
    told: list = []
    new = mutate_values.Alter(told.append).slight(object)
    assert new is not object
    assert told == ["expected value replaced by an object that is equal to nothing"]


def test_what_was_altered_is_told_each_time():
    told: list = []
    alter = mutate_values.Alter(told.append)
    alter.slight(3)
    alter.slight(4)
    assert told == ["expected value 3 replaced by 4", "expected value 4 replaced by 5"]


def test_the_text_of_foreign_objects_is_never_asked_for():
    class Loud:
        def __repr__(self):
            raise AssertionError("repr of foreign code was called")

    told: list = []
    mutate_values.Alter(told.append).slight([Loud()])
    assert len(told) == 1
