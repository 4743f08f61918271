"""What the API takes and gives; these types become its OpenAPI description. Times are RFC 3339 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec
from litestar.openapi import ResponseSpec
from msgspec import Meta

from trivet.service import feedback, reading
from trivet.service.rows import EventRow, LeaseRow, ScoreRow, State, Word
from trivet.service.settings import Feedback, Name
from trivet.service.store import Store

Oid = Annotated[str, Meta(pattern=r"^(?:[0-9a-f]{40}|[0-9a-f]{64})$(?!\n)", description="a full commit id in hex")]
Ref = Annotated[
    str, Meta(max_length=300, pattern=r"^[^\x00-\x20\x7f]*$(?!\n)", description="what newer heads supersede: a branch or pull request")
]


class ScoreRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ask for a score of a head on a base."""

    repo: Name
    base: Oid
    head: Oid
    ref: Ref = ""


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """Where the parts of a score are."""

    self: str
    events: str
    decision: str
    page: str


class ScoreAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A score, as far as it is. ``merge`` and ``verdicts`` are null until a decision stands; silence is never a yes."""

    id: str
    repo: str
    base: str
    head: str
    ref: str
    attempt: int
    state: State
    over: bool
    merge: bool | None
    verdicts: dict[Literal["src-score", "oracle-integrity", "flake-lease"], Word | None]
    feedback: Feedback
    queued_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    problem: str
    links: Links
    decision: dict[str, object] | None = None


class EventAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to a score."""

    id: int
    at: datetime
    kind: str
    text: str


class ScorePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of scores, newest first; ``next`` is the address of the next page."""

    scores: list[ScoreAnswer]
    next: str | None


class LeaseAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A lease of the newest judged base."""

    qualname: str
    path: str
    owner: str
    reason: str
    expires_at: datetime
    first_seen_at: datetime
    expired: bool


class LeaseList(msgspec.Struct, frozen=True, kw_only=True):
    """The leases of a repository, soonest to expire first."""

    repo: str
    base: str | None
    leases: list[LeaseAnswer]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with one part of a request."""

    key: str
    message: str


class Refusal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why an answer is none."""

    status: int
    message: str
    code: str = ""
    problems: list[Problem] = []


def _refusals() -> dict[int, ResponseSpec]:
    told = {
        400: "not understood",
        401: "no credential, or one that is not good",
        403: "the credential does not grant this",
        404: "not there, or not to be seen by this credential",
        429: "too many requests, or too many waiting scores; see Retry-After",
        503: "the service is stopping, or its store does not answer",
    }
    return {status: ResponseSpec(Refusal, description=text, generate_examples=False) for status, text in told.items()}


REFUSALS = _refusals()
"""What each route may answer instead; for its description."""
DOCUMENT = {**REFUSALS, 200: ResponseSpec(dict[str, object], description="a JSON document, as it was written", generate_examples=False)}
"""The same for a route that gives a document of another schema."""


def time_of(seconds: float) -> datetime:
    """Seconds since the epoch as a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC)


def score_answer(row: ScoreRow, level: Feedback, *, decision: dict[str, object] | None = None, told: bool = True) -> ScoreAnswer:
    """A row of the store as its answer at one level of feedback; ``told`` is false for who may ask but not read."""
    root = f"/v1/scores/{row.id}"
    decided = row.merge is not None and told
    return ScoreAnswer(
        id=row.id,
        repo=row.repo,
        base=row.base,
        head=row.head,
        ref=row.ref,
        attempt=row.attempt,
        state=row.state,
        over=not row.open,
        merge=row.merge if told else None,
        verdicts={
            "src-score": row.src_score if decided else None,
            "oracle-integrity": row.oracle_integrity if decided else None,
            "flake-lease": row.flake_lease if decided else None,
        },
        feedback=level,
        queued_at=time_of(row.queued_at),
        started_at=None if row.started_at is None else time_of(row.started_at),
        ended_at=None if row.ended_at is None else time_of(row.ended_at),
        # What a failed child said may quote anything of the repository.
        problem=row.problem
        if (level == "full" and told) or row.state in ("superseded", "cancelled")
        else "not told at this level"
        if row.problem
        else "",
        links=Links(self=root, events=f"{root}/events", decision=f"{root}/decision.json", page=f"/scores/{row.id}"),
        decision=None if decision is None or not told else feedback.redacted(decision, level),
    )


def event_answer(row: EventRow, level: Feedback) -> EventAnswer:
    """An event at one level of feedback: below ``full`` only that it happened."""
    return EventAnswer(id=row.n, at=time_of(row.at), kind=row.kind, text=row.text if level == "full" else "")


def lease_answer(row: LeaseRow, now: float) -> LeaseAnswer:
    """A lease as its answer."""
    return LeaseAnswer(
        qualname=row.qualname,
        path=row.path,
        owner=row.owner,
        reason=row.reason,
        expires_at=time_of(row.expires_at),
        first_seen_at=time_of(row.first_seen_at),
        expired=row.expires_at <= now,
    )


def decision_of(store: Store, row: ScoreRow) -> dict[str, object] | None:
    """The decision document of a decided score; None if there is none, or its evidence was given up by retention."""
    content = reading.evidence(store, row.n, "decision.json") if row.merge is not None else None
    return None if content is None else msgspec.json.decode(content, type=dict[str, object])
