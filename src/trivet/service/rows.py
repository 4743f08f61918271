"""What the store gives back: frozen values, plain data, ready for JSON. Times are seconds since the epoch."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

import msgspec

State = Literal["queued", "fetching", "scoring", "joining", "signing", "publishing", "done", "failed", "superseded", "cancelled"]
OPEN: tuple[State, ...] = ("queued", "fetching", "scoring", "joining", "signing", "publishing")
"""States of a score that has not ended."""
VOID: tuple[State, ...] = ("failed", "superseded", "cancelled")
"""States that ended without a decision: the same change may be asked for again."""
Word = Literal["PASS", "FAIL", "NOT_RUN"]

T = TypeVar("T")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """The floor of all rows."""


class RepositoryRow(Row, frozen=True):
    """A repository with what a list of them shows."""

    id: int
    name: str
    listed: bool
    merged: int = 0
    blocked: int = 0
    undecided: int = 0
    last: ScoreRow | None = None


class ScoreRow(Row, frozen=True):
    """One score as the store keeps it. ``merge`` is None until a decision stands."""

    n: int
    id: str
    repo: str
    base: str
    head: str
    policy: str
    attempt: int
    ref: str
    source: str
    asked_by: str
    state: State
    queued_at: float
    started_at: float | None = None
    ended_at: float | None = None
    merge: bool | None = None
    src_score: Word | None = None
    oracle_integrity: Word | None = None
    flake_lease: Word | None = None
    cause: str = ""
    problem: str = ""
    kind: str = ""
    replay_key: str = ""
    isolation: str = ""
    wall: str = ""
    duration_s: float | None = None
    log_index: int | None = None

    @property
    def open(self) -> bool:
        """Whether it is still on its way."""
        return self.state in OPEN


class Page(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A page of rows, newest first; ``after`` is what to pass for the next page, None at the end."""

    rows: tuple[T, ...]
    after: int | None


class FindingRow(Row, frozen=True):
    """One finding of a score."""

    leg: str
    rule: str
    level: str
    message: str
    path: str | None
    line: int | None
    next: str


class EventRow(Row, frozen=True):
    """Something that happened to a score; ``text`` is one line for people."""

    n: int
    at: float
    kind: str
    text: str


class DayRow(Row, frozen=True):
    """Decisions of one day (whole days since the epoch, UTC)."""

    day: int
    merged: int
    blocked: int
    undecided: int
    seconds: float


class ReasonRow(Row, frozen=True):
    """How many scores of one day a rule blocked."""

    day: int
    rule: str
    blocked: int


class LeaseRow(Row, frozen=True):
    """One lease of the newest judged base."""

    repo: str
    qualname: str
    path: str
    owner: str
    reason: str
    signature: str
    expires_at: float
    first_seen_at: float
    base: str


class OwnerRow(Row, frozen=True):
    """Who owns a sealed file (``pattern`` is its path) by base's CODEOWNERS; nobody where ``names`` is empty."""

    repo: str
    pattern: str
    names: tuple[str, ...]


class FlakyRow(Row, frozen=True):
    """A sealed test that gave different outcomes for one tree."""

    repo: str
    test: str
    seen: int
    first_at: float
    last_at: float
    last_score: str
    why: str


class TokenRow(Row, frozen=True):
    """A token, without its secret."""

    id: str
    name: str
    scopes: tuple[str, ...]
    repos: tuple[str, ...]
    made_at: float
    expires_at: float
    revoked_at: float | None
    used_at: float | None


class AuditRow(Row, frozen=True):
    """Who asked what."""

    n: int
    at: float
    who: str
    what: str
    repo: str
    target: str
    address: str
    outcome: str
