"""Asking for a score: one way for the API, webhooks and the reconcile poll."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Protocol

import msgspec

from trivet import __version__
from trivet.errors import TrivetError
from trivet.service import reading
from trivet.service.desk import Jobs
from trivet.service.rows import ScoreRow
from trivet.service.settings import Repository
from trivet.service.store import Ask, Store, ask, end, is_void, keep_evidence, latest, oracle_of, supersede

QUEUE_PRIORITY = {"merge-queue": 1, "webhook": 5, "reconcile": 6, "api": 10}
"""Lower is sooner."""
REVIEW = "review.json"
SUBJECT = "subject.json"
"""What a forge said of a change when it was asked about: evidence of authorship, and which change it is."""


class FullError(TrivetError):
    """A repository has as many scores waiting as it may."""

    code = "TRV-E81"


def policy_key(repo: Repository, *, oracle: str = "", review: bytes | None = None) -> str:
    """What of the service shapes a decision beside base and head: options of the repository, the review, and the version that judges.

    The policy of the repository itself is part of base.
    """
    shaping = {
        "trivet": __version__,
        "python": str(repo.python or ""),
        "isolation": repo.isolation,
        "controls": repo.controls,
        "wall": repo.wall,
        "vary": repo.vary,
        "advisory": repo.advisory,
        "reruns": repo.reruns,
        "oracle": None if repo.oracle is None else [repo.oracle.source, repo.oracle.branch, oracle],
        "review": None if review is None else hashlib.sha256(review).hexdigest(),
    }
    return hashlib.sha256(msgspec.json.encode(shaping, order="deterministic")).hexdigest()


class Taking(Protocol):
    """What taking a question needs; a ``Desk`` is one."""

    @property
    def store(self) -> Store:
        """Where scores are."""

    @property
    def clock(self) -> Callable[[], float]:
        """Seconds since the epoch."""

    @property
    def jobs(self) -> Jobs:
        """The engine."""


def ask_for(
    desk: Taking,
    repo: Repository,
    *,
    base: str,
    head: str,
    ref: str,
    source: str,
    asked_by: str,
    review: bytes | None = None,
    subject: bytes | None = None,
) -> tuple[ScoreRow, bool]:
    """Ask for a score; older heads of the same ``ref`` are superseded, and what runs for them is ended.

    Returns:
        The score, and whether it is new. One that stands already is the answer at once.

    Raises:
        FullError: the repository has ``max_queued`` scores waiting.
        StoreError: the store does not answer.
    """
    oracle = oracle_of(desk.store, repo.name) if repo.oracle is not None else ""
    policy = policy_key(repo, oracle=oracle, review=review)
    wanted = Ask(repo=repo.name, base=base, head=head, policy=policy, ref=ref, source=source, asked_by=asked_by)
    known = latest(desk.store, wanted)
    if (known is None or is_void(known)) and reading.queued_count(desk.store, repo.name) >= repo.max_queued:
        raise FullError(f"{repo.max_queued} scores of {repo.name} are waiting already", hint="ask again later")
    now = desk.clock()
    # What stands is the answer at once: no more is asked of the store.
    score, made = (known, False) if known is not None and not is_void(known) else ask(desk.store, wanted, now)
    given = {name: content for name, content in ((REVIEW, review), (SUBJECT, subject)) if content is not None}
    if made and given:
        keep_evidence(desk.store, score.id, given)
    if score.open:
        # Again for one that is known: whoever asked first may have been killed between the two databases.
        desk.jobs.enqueue(score, priority=QUEUE_PRIORITY.get(source, 10))
    if made:
        for older in supersede(desk.store, score, now):
            desk.jobs.cancel(older)
    return score, made


def cancel(desk: Taking, score: ScoreRow, why: str) -> bool:
    """Cancel an open score; False if it had ended."""
    done = end(desk.store, score.id, "cancelled", why, desk.clock())
    if done:
        desk.jobs.cancel(score.id)
    return done
