"""Review evidence: what a trusted job took from the forge about one change, read strictly.

``{"author": LOGIN, "teams": {TEAM: [LOGIN…]}, "labels": […], "approvals": [{"login": LOGIN, "commit": SHA}]}``; ``emails`` (login to
addresses) is optional and lets owners be named by address.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from trivet import strict
from trivet.errors import UsageError
from trivet.model import Review

LIMIT_B = 8_000_000
"""A longer file is no review evidence."""


class _Approval(msgspec.Struct, forbid_unknown_fields=True):
    login: str
    commit: str


class _Review(msgspec.Struct, forbid_unknown_fields=True):
    author: str
    teams: dict[str, list[str]] = {}
    labels: list[str] = []
    approvals: list[_Approval] = []
    emails: dict[str, list[str]] = {}


def read_review(path: Path) -> Review:
    """Read one review file.

    Raises:
        UsageError: it cannot be read, is too long, or is not of the documented form.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LIMIT_B + 1)
    except OSError as error:
        raise UsageError(f"the review evidence cannot be read: {error.strerror or error}", where=str(path)) from error
    return parse_review(data, where=str(path))


def parse_review(data: bytes, *, where: str = "--review") -> Review:
    """Read the bytes of a review file; see `read_review`."""
    if len(data) > LIMIT_B:
        raise UsageError(f"the review evidence is longer than {LIMIT_B} bytes", where=where)
    try:
        raw = strict.loads(data)
        review = msgspec.convert(raw, _Review, strict=True)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        message = f"the review evidence is not of the documented form: {error}"
        raise UsageError(message, where=where, hint="see docs/oracle-changes.md") from error
    names = [review.author, *(row.login for row in review.approvals), *review.teams, *review.emails]
    if any(not name.strip() or name != name.strip() for name in names):
        raise UsageError("a login, team or author in the review evidence is blank or padded", where=where)
    return Review(
        author=review.author,
        teams=tuple((name, tuple(members)) for name, members in sorted(review.teams.items())),
        labels=tuple(review.labels),
        approvals=tuple((row.login, row.commit) for row in review.approvals),
        emails=tuple((login, tuple(rows)) for login, rows in sorted(review.emails.items())),
    )
