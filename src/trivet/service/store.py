"""The store: what changes a score.

Each change is one transaction that may be repeated: a score is asked for once for each (repository, base, head, policy), and is decided
once, whatever is killed between. Reading is in ``reading``, tokens in ``keyring``.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Mapping, Sequence

import msgspec
from sqlalchemy import Connection, RowMapping, Select, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from trivet.errors import StoreError
from trivet.service import tables as t
from trivet.service.database import Store, open_store
from trivet.service.rows import OPEN, VOID, ScoreRow, State

__all__ = [
    "Ask",
    "Decided",
    "Store",
    "ask",
    "decide",
    "end",
    "finish",
    "is_void",
    "keep_evidence",
    "keep_log_index",
    "keep_oracle",
    "keep_picture",
    "latest",
    "move",
    "note",
    "open_store",
    "oracle_of",
    "pictured",
    "score",
    "score_row",
    "scores_query",
    "supersede",
    "sync_repositories",
]
DAY_S = 86_400
_EVENT_LIMIT = 2_000
_ATTEMPTS = 100


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants to have judged. ``ref`` names what newer heads supersede (a branch or pull request; "" for nothing)."""

    repo: str
    base: str
    head: str
    policy: str
    ref: str = ""
    source: str = "api"
    asked_by: str = ""


def sync_repositories(store: Store, names: Sequence[str], now: float) -> None:
    """Bring the list of repositories in line with the settings; history of others stays."""
    with store.write() as c:
        for name in names:
            made = store.upsert(t.repositories).values(name=name, added_at=now, listed=True)
            c.execute(made.on_conflict_do_update(index_elements=["name"], set_={"listed": True}))
        c.execute(update(t.repositories).where(t.repositories.c.name.not_in(names)).values(listed=False))


def keep_oracle(store: Store, repo: str, tip: str) -> None:
    """Keep the newest known commit of a repository's private oracles: a newer one makes each question a new one."""
    change = update(t.repositories).where(t.repositories.c.name == repo, t.repositories.c.oracle != tip)
    with store.write() as c:
        c.execute(change.values(oracle=tip))


def oracle_of(store: Store, repo: str) -> str:
    """What ``keep_oracle`` kept last; "" before the first fetch."""
    with store.read() as c:
        return str(c.execute(select(t.repositories.c.oracle).where(t.repositories.c.name == repo)).scalar() or "")


def is_void(score: ScoreRow) -> bool:
    """Whether a score ended without an answer about the change, so that the same change may be asked for again."""
    return score.state in VOID or (score.state == "done" and score.cause == "infra")


def ask(store: Store, wanted: Ask, now: float) -> tuple[ScoreRow, bool]:
    """Ask for a score; the same (repository, base, head, policy) gives the same score, unless that one ended without a decision.

    Returns:
        The score, and whether it is new.

    Raises:
        StoreError: the repository is unknown.
    """
    known = latest(store, wanted)
    if known is not None and not is_void(known):
        return known, False
    attempt = 1 if known is None else known.attempt + 1
    identity = secrets.token_hex(12)
    try:
        with store.write() as c:
            repo = c.execute(select(t.repositories.c.id).where(t.repositories.c.name == wanted.repo, t.repositories.c.listed)).scalar()
            if repo is None:
                raise StoreError(f"no repository {wanted.repo!r}")
            row = {
                "id": identity, "repo_id": repo, "base": wanted.base, "head": wanted.head, "policy": wanted.policy, "attempt": attempt,
                "ref": wanted.ref, "source": wanted.source, "asked_by": wanted.asked_by, "state": "queued", "queued_at": now,
            }  # fmt: skip
            n = c.execute(insert(t.scores).values(row).returning(t.scores.c.n)).scalar_one()
            _note(c, n, now, "queued", f"asked for by {wanted.asked_by or 'nobody named'} ({wanted.source})")
    except IntegrityError:  # somebody else asked in the same moment
        again = latest(store, wanted)
        if again is None:
            raise
        return again, False
    return score(store, identity), True


def latest(store: Store, wanted: Ask) -> ScoreRow | None:
    """The newest attempt at one (repository, base, head, policy)."""
    query = scores_query().where(
        t.repositories.c.name == wanted.repo,
        t.scores.c.base == wanted.base,
        t.scores.c.head == wanted.head,
        t.scores.c.policy == wanted.policy,
    )
    with store.read() as c:
        row = c.execute(query.order_by(t.scores.c.attempt.desc()).limit(1)).mappings().first()
    return None if row is None else score_row(row)


def score(store: Store, identity: str) -> ScoreRow:
    """One score by its public id.

    Raises:
        StoreError: there is none.
    """
    with store.read() as c:
        row = c.execute(scores_query().where(t.scores.c.id == identity)).mappings().first()
    if row is None:
        raise StoreError(f"no score {identity!r}")
    return score_row(row)


def scores_query() -> Select[tuple[object, ...]]:
    """Select what ``score_row`` needs; join and order as you like."""
    columns = [column for column in t.scores.c if column.name != "repo_id"]
    return select(*columns, t.repositories.c.name.label("repo")).join(t.repositories, t.repositories.c.id == t.scores.c.repo_id)


def score_row(row: RowMapping) -> ScoreRow:
    """Make a row of ``scores_query`` into its value."""
    return ScoreRow(**{str(key): value for key, value in row.items()})


def move(store: Store, identity: str, state: State, now: float, text: str = "") -> bool:
    """Move an open score to another open state; False if it has ended (superseded, cancelled, decided) in the meantime."""
    with store.write() as c:
        values: dict[str, object] = {"state": state}
        if state == "fetching":
            values["started_at"] = func.coalesce(t.scores.c.started_at, now)
        n = c.execute(
            update(t.scores).where(t.scores.c.id == identity, t.scores.c.state.in_(OPEN)).values(values).returning(t.scores.c.n)
        ).scalar()
        if n is not None:
            _note(c, n, now, state, text)
        return n is not None


def note(store: Store, identity: str, kind: str, text: str, now: float) -> None:
    """Add an event to a score: one line for people, and for those who follow it live."""
    with store.write() as c:
        n = c.execute(select(t.scores.c.n).where(t.scores.c.id == identity)).scalar_one()
        _note(c, n, now, kind, text)


def _note(c: Connection, n: int, now: float, kind: str, text: str) -> None:
    c.execute(insert(t.events).values(score_n=n, at=now, kind=kind, text=text[:_EVENT_LIMIT]))


def end(store: Store, identity: str, state: State, problem: str, now: float) -> bool:
    """End an open score without a decision: ``failed``, ``superseded`` or ``cancelled``; False if it had ended before."""
    with store.write() as c:
        return _end(c, identity, state, problem, now)


def _end(c: Connection, identity: str, state: State, problem: str, now: float) -> bool:
    change = update(t.scores).where(t.scores.c.id == identity, t.scores.c.state.in_(OPEN), t.scores.c.merge.is_(None))
    values = {"state": state, "ended_at": now, "problem": problem[:_EVENT_LIMIT]}
    row = c.execute(change.values(values).returning(t.scores.c.n, t.scores.c.repo_id)).first()
    if row is None:
        return False
    _note(c, row.n, now, state, problem)
    if state == "failed":
        _count_day(c, row.repo_id, now, "undecided", 0.0)
    return True


def supersede(store: Store, newer: ScoreRow, now: float) -> tuple[str, ...]:
    """End the open scores of older heads of the same ``ref``; their ids."""
    if not newer.ref:
        return ()
    older = (
        select(t.scores.c.id)
        .join(t.repositories)
        .where(
            t.repositories.c.name == newer.repo,
            t.scores.c.ref == newer.ref,
            t.scores.c.n < newer.n,
            t.scores.c.head != newer.head,
            t.scores.c.state.in_(OPEN),
            t.scores.c.merge.is_(None),
        )
        .limit(_ATTEMPTS)
    )
    with store.write() as c:
        found = c.execute(older).scalars().all()
        return tuple(
            name for name in found if _end(c, name, "superseded", f"a newer head of {newer.ref} was pushed: {newer.head[:12]}", now)
        )


def keep_evidence(store: Store, identity: str, files: Mapping[str, bytes]) -> None:
    """Keep the files of a verdict; what is there already stays as it was."""
    with store.write() as c:
        n = c.execute(select(t.scores.c.n).where(t.scores.c.id == identity)).scalar_one()
        for name, content in files.items():
            row = store.upsert(t.evidence).values(score_n=n, name=name, size_b=len(content), content=zlib.compress(content, 6))
            c.execute(row.on_conflict_do_nothing())


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """What a decision says, as columns and rows."""

    merge: bool
    src_score: str
    oracle_integrity: str
    flake_lease: str
    cause: str = ""
    kind: str = ""
    replay_key: str = ""
    isolation: str = ""
    wall: str = ""
    duration_s: float | None = None
    findings: tuple[dict[str, object], ...] = ()
    flaky: tuple[tuple[str, str], ...] = ()
    """(test, why)"""


def decide(store: Store, identity: str, decided: Decided, now: float) -> bool:
    """Record the decision of a score: once. False if it stands already, or the score has ended without one.

    Counts of the day, findings and flaky tests are written in the same transaction.
    """
    with store.write() as c:
        change = update(t.scores).where(t.scores.c.id == identity, t.scores.c.state.in_(OPEN), t.scores.c.merge.is_(None))
        values = {name: getattr(decided, name) for name in Decided.__struct_fields__ if name not in ("findings", "flaky")}
        row = c.execute(change.values(state="signing", ended_at=now, **values).returning(t.scores.c.n, t.scores.c.repo_id)).first()
        if row is None:
            return False
        if decided.findings:
            c.execute(insert(t.findings), [{"score_n": row.n, "position": i, **found} for i, found in enumerate(decided.findings)])
        undecided = decided.cause == "infra"
        _count_day(c, row.repo_id, now, "merged" if decided.merge else "undecided" if undecided else "blocked", decided.duration_s or 0.0)
        rules = {str(found["rule"]) for found in decided.findings if found["level"] == "error"} if not decided.merge else set()
        for rule in sorted(rules):
            made = store.upsert(t.reason_days).values(repo_id=row.repo_id, day=int(now // DAY_S), rule=rule, blocked=1)
            c.execute(made.on_conflict_do_update(index_elements=["repo_id", "day", "rule"], set_={"blocked": t.reason_days.c.blocked + 1}))
        for test, why in decided.flaky:
            made = store.upsert(t.flaky).values(
                repo_id=row.repo_id, test=test[:500], seen=1, first_at=now, last_at=now, last_score=identity, why=why[:_EVENT_LIMIT]
            )
            again = {"seen": t.flaky.c.seen + 1, "last_at": now, "last_score": identity, "why": why[:_EVENT_LIMIT]}
            c.execute(made.on_conflict_do_update(index_elements=["repo_id", "test"], set_=again))
        _note(c, row.n, now, "decided", "MERGE_OK" if decided.merge else "MERGE_BLOCKED")
        return True


def _count_day(c: Connection, repo_id: int, now: float, word: str, seconds: float) -> None:
    kind = sqlite.insert if c.dialect.name == "sqlite" else postgresql.insert
    counts = {"merged": 0, "blocked": 0, "undecided": 0, "seconds": seconds, word: 1}
    made = kind(t.verdict_days).values(repo_id=repo_id, day=int(now // DAY_S), **counts)
    more = {word: t.verdict_days.c[word] + 1, "seconds": t.verdict_days.c.seconds + seconds}
    c.execute(made.on_conflict_do_update(index_elements=["repo_id", "day"], set_=more))


def finish(store: Store, identity: str, now: float) -> None:
    """Mark a decided score as signed and published."""
    with store.write() as c:
        change = update(t.scores).where(t.scores.c.id == identity, t.scores.c.state.in_(OPEN), t.scores.c.merge.is_not(None))
        n = c.execute(change.values(state="done").returning(t.scores.c.n)).scalar()
        if n is not None:
            _note(c, n, now, "done", "")


def keep_log_index(store: Store, identity: str, index: int) -> None:
    """Keep where the signed decision of a score stands in the log."""
    with store.write() as c:
        c.execute(update(t.scores).where(t.scores.c.id == identity).values(log_index=index))


def pictured(store: Store, repo: str) -> str:
    """The base whose leases and owners are kept; "" for none."""
    with store.read() as c:
        return str(c.execute(select(t.repositories.c.pictured).where(t.repositories.c.name == repo)).scalar() or "")


def keep_picture(
    store: Store, repo: str, base: str, *, leases: Sequence[Mapping[str, object]], owners: Sequence[Mapping[str, object]], now: float
) -> None:
    """Replace what is shown of a repository's leases and owners by what a newer base says.

    A lease that was there before keeps when it was first seen.
    """
    with store.write() as c:
        repo_id = c.execute(select(t.repositories.c.id).where(t.repositories.c.name == repo)).scalar_one()
        seen = c.execute(select(t.leases.c.qualname, t.leases.c.first_seen_at).where(t.leases.c.repo_id == repo_id)).all()
        first = {row.qualname: row.first_seen_at for row in seen}
        for table, rows in ((t.leases, leases), (t.owners, owners)):
            c.execute(delete(table).where(table.c.repo_id == repo_id))
            made = [{**row, "repo_id": repo_id, "position": i, "base": base} for i, row in enumerate(rows)]
            if table is t.leases:
                made = [{**row, "first_seen_at": first.get(row["qualname"], now)} for row in made]
            if made:
                c.execute(insert(table), made)
        c.execute(update(t.repositories).where(t.repositories.c.id == repo_id).values(pictured=base))
