"""JSON with one reading: two keys, infinite numbers and words of JavaScript are refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivet import strict

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_what_json_writes_is_read_as_it_was(value: object) -> None:
    assert strict.loads(json.dumps(value)) == value
    assert strict.loads(json.dumps(value, ensure_ascii=True).encode()) == value


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 1}', '[{"a": {"b": 0, "b": 0}}]', "NaN", "[Infinity]", "-Infinity", "1e400", '{"a": -1e999}', "", "1 2", b"\xff", "[" * 200_000]
)
def test_what_can_be_read_in_two_ways_is_refused(text: str | bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        strict.loads(text)
