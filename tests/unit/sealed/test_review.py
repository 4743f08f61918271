"""Review evidence is read strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from trivet.errors import UsageError
from trivet.model import Review
from trivet.sealed.review import LIMIT_B, parse_review, read_review


def test_the_documented_form_is_read() -> None:
    """All four documented keys."""
    data = b'{"author": "a", "teams": {"t": ["b"]}, "labels": ["l"], "approvals": [{"login": "b", "commit": "c"}]}'
    assert parse_review(data) == Review(author="a", teams=(("t", ("b",)),), labels=("l",), approvals=(("b", "c"),))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"author": 1}',
        b'{"author": null}',
        b'{"author": ""}',
        b'{"author": " rosa"}',
        b'{"author": "a", "author": "b"}',
        b'{"author": "a", "owner": true}',
        b'{"author": "a", "teams": {"t": "rosa"}}',
        b'{"author": "a", "teams": ["rosa"]}',
        b'{"author": "a", "approvals": [{"login": "b"}]}',
        b'{"author": "a", "approvals": ["b"]}',
        b'{"author": "a", "approvals": [{"login": "b", "commit": 7}]}',
        b'{"author": "a", "labels": [NaN]}',
        b'{"author": "\xff"}',
        b"[" * 100_000,
        b" " * (LIMIT_B + 1),
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    """Evidence that can be read in two ways is none."""
    with pytest.raises(UsageError):
        parse_review(data)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """Naming evidence that is not there is a mistake of the call."""
    with pytest.raises(UsageError):
        read_review(tmp_path / "none.json")
