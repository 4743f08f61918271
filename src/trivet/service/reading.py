"""What pages and answers read from the store. Every list is cut by key, never by counting rows: it stays quick at a million scores."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import TypeVar

from sqlalchemy import RowMapping, func, select

from trivet.service import tables as t
from trivet.service.rows import (
    OPEN,
    AuditRow,
    DayRow,
    EventRow,
    FindingRow,
    FlakyRow,
    LeaseRow,
    OwnerRow,
    Page,
    ReasonRow,
    RepositoryRow,
    ScoreRow,
)
from trivet.service.store import DAY_S, Store, score_row, scores_query

T = TypeVar("T")
PAGE = 50
_MOST = 500


def repositories(store: Store, names: Sequence[str] | None = None, *, since_day: int = 0) -> tuple[RepositoryRow, ...]:
    """The repositories by name, each with its counts since a day and its last score.

    Args:
        store: the store.
        names: only these; None for all.
        since_day: the first day (since the epoch, UTC) that counts.
    """
    days = t.verdict_days.c
    sums = (
        select(days.repo_id, *(func.sum(days[word]).label(word) for word in ("merged", "blocked", "undecided")))
        .where(days.day >= since_day)
        .group_by(days.repo_id)
        .subquery()
    )
    query = select(t.repositories, sums.c.merged, sums.c.blocked, sums.c.undecided).outerjoin(sums, sums.c.repo_id == t.repositories.c.id)
    if names is not None:
        query = query.where(t.repositories.c.name.in_(names))
    with store.read() as c:
        rows = c.execute(query.order_by(t.repositories.c.name)).all()
        made = []
        for row in rows:
            last = c.execute(scores_query().where(t.scores.c.repo_id == row.id).order_by(t.scores.c.n.desc()).limit(1)).mappings().first()
            made.append(
                RepositoryRow(
                    id=row.id,
                    name=row.name,
                    listed=row.listed,
                    merged=int(row.merged or 0),
                    blocked=int(row.blocked or 0),
                    undecided=int(row.undecided or 0),
                    last=None if last is None else score_row(last),
                )
            )
    return tuple(made)


def scores(
    store: Store,
    names: Sequence[str] | None = None,
    *,
    after: int | None = None,
    limit: int = PAGE,
    merge: bool | None = None,
    state: str | None = None,
    ref: str | None = None,
) -> Page[ScoreRow]:
    """A page of scores, newest first.

    Args:
        store: the store.
        names: only of these repositories; None for all.
        after: what the page before gave.
        limit: rows of a page, at most 500.
        merge: only decisions of this word.
        state: only scores in this state.
        ref: only of this branch or pull request.
    """
    limit = max(1, min(limit, _MOST))
    query = scores_query()
    if names is not None:
        # Ids and not names: the index begins with them.
        with store.read() as c:
            ids = c.execute(select(t.repositories.c.id).where(t.repositories.c.name.in_(names))).scalars().all()
        if state is not None:  # the sum keeps the planner from the index of repositories: that of states finds few rows
            query = query.where((t.scores.c.repo_id + 0).in_(ids))
        else:
            query = query.where(t.scores.c.repo_id == ids[0] if len(ids) == 1 else t.scores.c.repo_id.in_(ids))
    if after is not None:
        query = query.where(t.scores.c.n < after)
    if merge is not None:
        query = query.where(t.scores.c.merge.is_(merge))
    if state is not None:
        query = query.where(t.scores.c.state == state)
    if ref is not None:
        query = query.where(t.scores.c.ref == ref)
    with store.read() as c:
        found = [score_row(row) for row in c.execute(query.order_by(t.scores.c.n.desc()).limit(limit + 1)).mappings()]
    return Page(rows=tuple(found[:limit]), after=found[limit - 1].n if len(found) > limit else None)


def queue(store: Store, names: Sequence[str] | None = None, *, limit: int = _MOST) -> tuple[ScoreRow, ...]:
    """The scores that have not ended, oldest first."""
    query = scores_query().where(t.scores.c.state.in_(OPEN))
    with store.read() as c:
        if names is not None:
            ids = c.execute(select(t.repositories.c.id).where(t.repositories.c.name.in_(names))).scalars().all()
            query = query.where((t.scores.c.repo_id + 0).in_(ids))
        # The sums keep the planner from walking a million ended scores in the order of n: few are open, and the index of states has them.
        return tuple(score_row(row) for row in c.execute(query.order_by(t.scores.c.n + 0).limit(limit)).mappings())


def queued_count(store: Store, repo: str) -> int:
    """How many scores of a repository have not ended."""
    query = select(t.scores.c.repo_id, func.count()).where(t.scores.c.state.in_(OPEN)).group_by(t.scores.c.repo_id)
    with store.read() as c:
        wanted = c.execute(select(t.repositories.c.id).where(t.repositories.c.name == repo)).scalar()
        return next((count for repo_id, count in c.execute(query) if repo_id == wanted), 0) if wanted is not None else 0


def findings(store: Store, n: int) -> tuple[FindingRow, ...]:
    """The findings of a score, in order."""
    query = select(t.findings).where(t.findings.c.score_n == n).order_by(t.findings.c.position)
    with store.read() as c:
        return tuple(_row(row, FindingRow, "score_n", "position") for row in c.execute(query).mappings())


def events(store: Store, n: int, *, after: int = 0, limit: int = _MOST) -> tuple[EventRow, ...]:
    """What happened to a score since event ``after``, in order."""
    query = select(t.events).where(t.events.c.score_n == n, t.events.c.n > after).order_by(t.events.c.n).limit(limit)
    with store.read() as c:
        return tuple(_row(row, EventRow, "score_n") for row in c.execute(query).mappings())


def evidence(store: Store, n: int, name: str) -> bytes | None:
    """One file of a verdict as the command wrote it, None if it is not there (yet, or any more)."""
    query = select(t.evidence.c.content).where(t.evidence.c.score_n == n, t.evidence.c.name == name)
    with store.read() as c:
        content = c.execute(query).scalar()
    return None if content is None else zlib.decompress(content)


def evidence_names(store: Store, n: int) -> tuple[tuple[str, int], ...]:
    """The files of a verdict: (name, size in bytes)."""
    query = select(t.evidence.c.name, t.evidence.c.size_b).where(t.evidence.c.score_n == n).order_by(t.evidence.c.name)
    with store.read() as c:
        return tuple(c.execute(query).all())


def days(store: Store, names: Sequence[str] | None = None, *, now: float, days: int = 30) -> tuple[DayRow, ...]:
    """Decisions a day over the last days, oldest first; days without any are left out."""
    d = t.verdict_days.c
    query = select(d.day, *(func.sum(d[word]).label(word) for word in ("merged", "blocked", "undecided", "seconds")))
    query = query.where(d.day > int(now // DAY_S) - days).group_by(d.day).order_by(d.day)
    if names is not None:
        query = query.join(t.repositories, t.repositories.c.id == d.repo_id).where(t.repositories.c.name.in_(names))
    with store.read() as c:
        return tuple(DayRow(**row) for row in c.execute(query).mappings())


def reasons(store: Store, names: Sequence[str] | None = None, *, now: float, days: int = 30) -> tuple[ReasonRow, ...]:
    """Which rules blocked how many scores a day, oldest first."""
    d = t.reason_days.c
    query = select(d.day, d.rule, func.sum(d.blocked).label("blocked")).where(d.day > int(now // DAY_S) - days)
    if names is not None:
        query = query.join(t.repositories, t.repositories.c.id == d.repo_id).where(t.repositories.c.name.in_(names))
    with store.read() as c:
        return tuple(ReasonRow(**row) for row in c.execute(query.group_by(d.day, d.rule).order_by(d.day, d.rule)).mappings())


def leases(store: Store, names: Sequence[str] | None = None) -> tuple[LeaseRow, ...]:
    """The leases of the newest judged base of each repository, soonest to expire first."""
    query = select(t.leases, t.repositories.c.name.label("repo")).join(t.repositories)
    if names is not None:
        query = query.where(t.repositories.c.name.in_(names))
    with store.read() as c:
        rows = c.execute(query.order_by(t.leases.c.expires_at, t.leases.c.position)).mappings()
        return tuple(_row(row, LeaseRow, "repo_id", "position") for row in rows)


def owners(store: Store, names: Sequence[str] | None = None) -> tuple[OwnerRow, ...]:
    """The rules of CODEOWNERS of the newest judged base of each repository, in file order."""
    query = select(t.owners.c.pattern, t.owners.c.names, t.repositories.c.name.label("repo")).join(t.repositories)
    if names is not None:
        query = query.where(t.repositories.c.name.in_(names))
    with store.read() as c:
        rows = c.execute(query.order_by(t.repositories.c.name, t.owners.c.position)).all()
    return tuple(OwnerRow(repo=row.repo, pattern=row.pattern, names=tuple(row.names.split())) for row in rows)


def flaky(store: Store, names: Sequence[str] | None = None, *, limit: int = _MOST) -> tuple[FlakyRow, ...]:
    """Sealed tests that were seen to be flaky, most often seen first."""
    query = select(t.flaky, t.repositories.c.name.label("repo")).join(t.repositories)
    if names is not None:
        query = query.where(t.repositories.c.name.in_(names))
    with store.read() as c:
        rows = c.execute(query.order_by(t.flaky.c.seen.desc(), t.flaky.c.test).limit(limit)).mappings()
        return tuple(_row(row, FlakyRow, "repo_id") for row in rows)


def audit(store: Store, *, after: int | None = None, limit: int = PAGE) -> Page[AuditRow]:
    """A page of the audit log, newest first."""
    limit = max(1, min(limit, _MOST))
    query = select(t.audit).order_by(t.audit.c.n.desc()).limit(limit + 1)
    if after is not None:
        query = query.where(t.audit.c.n < after)
    with store.read() as c:
        found = [_row(row, AuditRow) for row in c.execute(query).mappings()]
    return Page(rows=tuple(found[:limit]), after=found[limit - 1].n if len(found) > limit else None)


def _row(row: Mapping[str, object] | RowMapping, kind: type[T], *without: str) -> T:
    return kind(**{str(key): value for key, value in row.items() if key not in without})
