"""Failure signatures: what they cover and what they may not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivet.signature import joined, matches, signature_of, signature_problem


@pytest.mark.parametrize(
    ("signature", "type_", "message", "file", "same"),
    [
        ("AssertionError: one cent off", "AssertionError", "one cent off", "t.py", True),
        ("AssertionError: one cent off", "AssertionError", "one cent off\nmore lines", "t.py", True),
        ("AssertionError: one cent off", "AssertionError", "two cents off", "t.py", False),
        ("AssertionError: one cent off", "ValueError", "one cent off", "t.py", False),
        ("AssertionError: * cent* off", "AssertionError", "two cents off", "t.py", True),
        ("ValueError", "ValueError", "whatever", "t.py", True),
        ("AssertionError @ t.py", "AssertionError", "", "t.py", True),
        ("AssertionError @ t.py", "AssertionError", "", "u.py", False),
        ("json.JSONDecodeError: bad", "JSONDecodeError", "bad", "", True),
        ("json.JSONDecodeError: bad", "other.JSONDecodeError", "bad", "", False),
        ("A: x || B: y", "B", "y", "", True),
        ("KeyError: <object at 0x7f00aa>", "KeyError", "<object at 0x7f11bb>", "", True),
        ("OSError: no /tmp/a/b/file.txt", "OSError", "no /var/x/file.txt", "", True),
        ("AssertionError: a.c", "AssertionError", "abc", "", False),
        (signature_of("AssertionError", "@ 0", ""), "AssertionError", "@ 0", "", True),
    ],
)
def test_a_signature_covers_its_failure_and_no_other(signature, type_, message, file, same):
    assert matches(signature, type_=type_, message=message, file=file) is same


@given(st.sampled_from(["AssertionError", "ValueError", "x.Y", "Skipped"]), st.text(max_size=300), st.sampled_from(["", "tests/t.py"]))
def test_what_is_recorded_is_covered_and_may_stand_in_a_ledger(type_, message, file):
    text = signature_of(type_, message, file)
    assert matches(text, type_=type_, message=message, file=file)
    if file:
        assert signature_problem(text) == ""


@given(
    st.lists(
        st.tuples(st.sampled_from(["AssertionError", "ValueError"]), st.text(alphabet="abc 12:*@|", max_size=12)), min_size=1, max_size=4
    )
)
def test_a_joined_signature_covers_every_failure_it_was_made_of(failures):
    text = joined([signature_of(type_, message, "tests/t.py") for type_, message in failures])
    assert all(matches(text, type_=type_, message=message, file="tests/t.py") for type_, message in failures)
    assert signature_problem(text) == ""
