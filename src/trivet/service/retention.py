"""Retention: what the service keeps, and for how long. Counts a day stay for ever; a score that goes takes all that is its own along."""

from __future__ import annotations

import msgspec
from sqlalchemy import delete, select

from trivet.service import tables as t
from trivet.service.rows import OPEN
from trivet.service.settings import StoreTable
from trivet.service.store import DAY_S, Store

_BATCH = 1_000
_DELIVERIES_DAYS = 30


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows went."""

    scores: int
    evidence: int
    audit: int
    deliveries: int
    identities: tuple[str, ...] = ()
    """Ids of the scores that went: their jobs may go too."""


def prune(store: Store, table: StoreTable, now: float) -> Pruned:
    """Remove what is older than the settings keep it, in small transactions; open scores are never touched."""
    gone: list[str] = []
    while True:
        with store.write() as c:
            old = select(t.scores.c.n, t.scores.c.id).where(
                t.scores.c.ended_at < now - table.keep_days * DAY_S, t.scores.c.state.not_in(OPEN)
            )
            rows = c.execute(old.limit(_BATCH)).all()
            if rows:
                c.execute(delete(t.scores).where(t.scores.c.n.in_([row.n for row in rows])))
        gone += [row.id for row in rows]
        if len(rows) < _BATCH:
            break
    evidence = 0
    while True:
        with store.write() as c:
            aged = (
                select(t.evidence.c.score_n)
                .join(t.scores, t.scores.c.n == t.evidence.c.score_n)
                .where(t.scores.c.ended_at < now - table.keep_evidence_days * DAY_S, t.scores.c.state.not_in(OPEN))
                .distinct()
                .limit(_BATCH)
            )
            numbers = c.execute(aged).scalars().all()
            if numbers:
                evidence += c.execute(delete(t.evidence).where(t.evidence.c.score_n.in_(numbers))).rowcount
                c.execute(delete(t.events).where(t.events.c.score_n.in_(numbers)))
        if len(numbers) < _BATCH:
            break
    with store.write() as c:
        audit = c.execute(delete(t.audit).where(t.audit.c.at < now - table.keep_audit_days * DAY_S)).rowcount
        deliveries = c.execute(delete(t.deliveries).where(t.deliveries.c.at < now - _DELIVERIES_DAYS * DAY_S)).rowcount
        c.execute(delete(t.sessions).where(t.sessions.c.expires_at < now))
    return Pruned(scores=len(gone), evidence=evidence, audit=audit, deliveries=deliveries, identities=tuple(gone))
