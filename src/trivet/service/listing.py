"""Lists of runs for the dashboard: cut by key, narrowed by outcome, rule or head; each question is answered from an index.

At a million scores a question over several repositories must not sort them all: each repository gives its newest rows by its own index, and
the few that are left are merged here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlalchemy import Connection, Select, func, or_, select

from trivet.service import tables as t
from trivet.service.rows import OPEN, Page, ScoreRow
from trivet.service.store import Store, score_row, scores_query

PAGE = 50
s = t.scores.c
_HEAD = re.compile("[0-9a-f]{4,64}")  # fewer letters begin too many ids
_TOGETHER = 64
"""Repositories up to which each is asked by itself."""
_STEP, _STEPS = 500, 40
"""Findings of one step down the index, and steps of one page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """What a list is narrowed to. ``after``: what the page before gave; ``head``: the start of a commit id in lower case."""

    names: tuple[str, ...]
    after: int | None = None
    word: str = ""
    rule: str = ""
    head: str = ""
    limit: int = PAGE


def runs(store: Store, asked: RunQuery) -> Page[ScoreRow]:
    """A page of scores, newest first. A page may hold fewer rows than asked for and still have a next one (rules alone)."""
    if asked.head and not _HEAD.fullmatch(asked.head):
        return Page(rows=(), after=None)
    with store.read() as c:
        ids = list(c.execute(select(t.repositories.c.id).where(t.repositories.c.name.in_(asked.names))).scalars())
        if not ids:
            return Page(rows=(), after=None)
        query = _narrowed(scores_query(), asked).limit(asked.limit + 1)
        if asked.rule:
            return _of_rule(c, query.where(s.repo_id.in_(ids)).order_by(s.n.desc()), asked)
        query = query if asked.after is None else query.where(s.n < asked.after)
        if asked.head or asked.word in ("queued", "running"):
            # These have an index of their own that finds few rows; the sums keep the planner from walking all rows in the order of n.
            questions = [query.where((s.repo_id + 0).in_(ids)).order_by((s.n + 0).desc())]
        elif len(ids) <= _TOGETHER:
            questions = [query.where(s.repo_id == one).order_by(s.n.desc()) for one in ids]
        else:
            questions = [query.where((s.repo_id + 0).in_(ids)).order_by(s.n.desc())]
        if asked.word == "undecided":  # two kinds, each with an index of its own: an OR of both would walk all runs
            given_up = scores_query().where(s.state == "failed", (s.repo_id + 0).in_(ids)).order_by(s.n.desc()).limit(asked.limit + 1)
            questions.append(given_up if asked.after is None else given_up.where(s.n < asked.after))
        found = [score_row(row) for question in questions for row in c.execute(question).mappings()]
    found.sort(key=lambda row: -row.n)
    return Page(rows=tuple(found[: asked.limit]), after=found[asked.limit - 1].n if len(found) > asked.limit else None)


def _of_rule(c: Connection, query: Select[tuple[object, ...]], asked: RunQuery) -> Page[ScoreRow]:
    """The scores that a rule blocked: steps down the index of findings, and looks up the scores of each step."""
    f, after = t.findings.c, asked.after
    found: list[ScoreRow] = []
    for _ in range(_STEPS):
        step = select(f.score_n).where(f.rule == asked.rule, f.level == "error").order_by(f.score_n.desc()).limit(_STEP)
        numbers = c.execute(step if after is None else step.where(f.score_n < after)).scalars().all()
        if not numbers:
            return Page(rows=tuple(found), after=None)
        found += [score_row(row) for row in c.execute(query.where(s.n.in_(set(numbers)))).mappings()]
        if len(found) > asked.limit:
            return Page(rows=tuple(found[: asked.limit]), after=found[asked.limit - 1].n)
        after = numbers[-1]
    return Page(rows=tuple(found), after=after)


def _narrowed(query: Select[tuple[object, ...]], asked: RunQuery) -> Select[tuple[object, ...]]:
    if asked.head:
        query = query.where(s.head >= asked.head, s.head < asked.head + "g")  # the letter after f: the ids that begin so
    failed = or_(s.src_score == "FAIL", s.oracle_integrity == "FAIL", s.flake_lease == "FAIL")
    match asked.word:
        case "merge":
            return query.where(s.merge.is_(True))
        case "blocked":
            return query.where(s.merge.is_(False), failed)
        case "undecided":
            return query.where(s.merge.is_(False), ~failed)
        case "queued":
            return query.where(s.state == "queued")
        case "running":
            return query.where(s.state.in_(OPEN[1:]), s.merge.is_(None))
        case _:
            return query


def counts_of_queue(store: Store, names: tuple[str, ...]) -> tuple[int, int]:
    """How many scores wait, and how many are under way."""
    # Only what is open is read, from the index of states; which of it may be seen is sorted out after that.
    query = select(s.state, s.repo_id, func.count()).where(s.state.in_(OPEN)).group_by(s.state, s.repo_id)
    with store.read() as c:
        ids = set(c.execute(select(t.repositories.c.id).where(t.repositories.c.name.in_(names))).scalars())
        counts = [(state, count) for state, repo, count in c.execute(query).all() if repo in ids]
    waiting = sum(count for state, count in counts if state == "queued")
    return waiting, sum(count for _, count in counts) - waiting


def total(store: Store, names: tuple[str, ...]) -> int:
    """How many scores were ever decided or given up, from the counts of the days."""
    d = t.verdict_days.c
    query = select(func.sum(d.merged + d.blocked + d.undecided)).join(t.repositories, t.repositories.c.id == d.repo_id)
    with store.read() as c:
        return int(c.execute(query.where(t.repositories.c.name.in_(names))).scalar() or 0)
