"""From the store to views: what each page shows to one reader. It reads, it counts nothing that the store has not counted before.

Every function takes the desk and the principal and shows only what that principal may see, at the level of feedback that counts for it.
"""

from __future__ import annotations

import json
from dataclasses import replace

from trivet.rules import RULES
from trivet.service import feedback, keyring, reading
from trivet.service.access import Principal
from trivet.service.answers import decision_of
from trivet.service.desk import Desk
from trivet.service.listing import RunQuery, counts_of_queue, runs, total
from trivet.service.rows import EventRow, RepositoryRow, ScoreRow
from trivet.service.store import DAY_S
from trivet.service.views import (
    Day,
    Download,
    FlakyList,
    FlakyRow,
    LeaseList,
    LeaseRow,
    LogPlace,
    Overview,
    OwnerGroup,
    OwnersView,
    Reason,
    RepoRow,
    RunFilter,
    RunList,
    RunRow,
    RunView,
    State,
    Step,
    TokenRow,
)
from trivet.service.views_run import decided, listed, mapping
from trivet.service.wording import day

WINDOW = 30
"""Days that the overview shows."""
_QUEUE, _RECENT, _REASONS = 8, 10, 8
_STEPS = (
    ("accept", "queued"),
    ("fetch", "fetching"),
    ("score", "scoring"),
    ("join", "joining"),
    ("sign", "signing"),
    ("publish", "publishing"),
)
_FILES = {
    "decision.json": "the decision with every finding",
    "summary.md": "the same as text",
    "junit.xml": "for test reports",
    "src_score.json": "one leg",
    "oracle_integrity.json": "one leg",
    "flake_lease.json": "one leg",
    "advisory.json": "the agent's own tests",
}


def names_of(desk: Desk, principal: Principal, repo: str = "") -> tuple[str, ...]:
    """The repositories that a page is about: all that may be seen, or the one that was asked for if it may be.

    Raises:
        NotAuthorizedException: nobody asks and nothing is public.
        NotFoundException: the repository does not exist for this principal.
        PermissionDeniedException: it may be seen, but not read.
    """
    if repo:
        desk.access.need(principal, "read", repo)
        return (repo,)
    return desk.access.visible(principal)


def overview(desk: Desk, principal: Principal, repo: str, now: float) -> Overview:
    """The first page, for all repositories or one."""
    names = names_of(desk, principal, repo)
    store, today = desk.store, int(now // DAY_S)
    counted = {row.day: row for row in reading.days(store, names, now=now, days=WINDOW)}
    days = [counted.get(today - back) for back in range(WINDOW - 1, -1, -1)]
    waiting, running = counts_of_queue(store, names)
    ending: dict[str, list[float]] = {}
    for lease in reading.leases(store, _told_in_full(desk, principal, names)):
        ending.setdefault(lease.repo, []).append(lease.expires_at)
    reasons: dict[str, int] = {}
    for row in reading.reasons(store, names, now=now, days=WINDOW):
        reasons[row.rule] = reasons.get(row.rule, 0) + row.blocked
    return Overview(
        repos=tuple(_repo(row, ending.get(row.name, []), now) for row in reading.repositories(store, names, since_day=today - WINDOW + 1)),
        days=tuple(
            Day(day=day((today - WINDOW + 1 + place) * DAY_S))
            if row is None
            else Day(day=day(row.day * DAY_S), merged=row.merged, blocked=row.blocked, undecided=row.undecided)
            for place, row in enumerate(days)
        ),
        reasons=tuple(_reason(rule, count) for rule, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))[:_REASONS]),
        queue=queue(desk, names),
        waiting=waiting,
        running=running,
        recent=tuple(map(run_row, runs(store, RunQuery(names=names, limit=_RECENT)).rows)),
        total=total(store, names),
        repo=repo,
    )


def queue_view(desk: Desk, principal: Principal, repo: str) -> Overview:
    """What the part of the overview needs that is asked for again and again: the queue alone."""
    names = names_of(desk, principal, repo)
    waiting, running = counts_of_queue(desk.store, names)
    rows = queue(desk, names)
    return Overview(repos=(), days=(), reasons=(), queue=rows, waiting=waiting, running=running, recent=(), total=0, repo=repo)


def queue(desk: Desk, names: tuple[str, ...]) -> tuple[RunRow, ...]:
    """The runs that have not ended, oldest first; at most a few."""
    return tuple(map(run_row, reading.queue(desk.store, names, limit=_QUEUE)))


def _reason(rule: str, count: int) -> Reason:
    known = RULES.get(rule)
    return Reason(rule=rule, title=known.title if known else "", leg=known.leg if known else "", count=count)


def _repo(row: RepositoryRow, ends: list[float], now: float) -> RepoRow:
    last = None if row.last is None else run_row(row.last)
    return RepoRow(
        name=row.name,
        merged=row.merged,
        blocked=row.blocked,
        undecided=row.undecided,
        leases=len(ends),
        leases_ending=sum(end <= now + 7 * DAY_S for end in ends),
        last_at=None if last is None else last.at,
        last_word=None if last is None else last.word,
        last_id="" if last is None else last.id,
    )


def state_of(row: ScoreRow) -> State:
    """Where a score is, as the pages tell it. A decision that is still being signed and published stands already."""
    if row.merge is not None:
        return "decided"
    match row.state:
        case "queued" | "failed" | "superseded" | "cancelled":
            return row.state
        case "fetching" | "scoring" | "joining" | "signing" | "publishing":
            return "running"
        case "done":
            return "failed"  # done without a decision is no state of the store; never a green one


def run_row(row: ScoreRow) -> RunRow:
    """One score as a row of a list."""
    state = state_of(row)
    words = (row.src_score, row.oracle_integrity, row.flake_lease)
    known = tuple(word for word in words if word is not None)
    return RunRow(
        id=row.id,
        repo=row.repo,
        base=row.base,
        head=row.head,
        state=state,
        at=row.queued_at if row.ended_at is None else row.ended_at,
        merge=row.merge,
        statuses=known if len(known) == len(words) and row.merge is not None else (),
        cause=row.cause or (state if state in ("failed", "cancelled") else ""),
        duration_s=row.duration_s,
        step=row.state if state == "running" else "",
    )


def run_list(desk: Desk, principal: Principal, narrow: RunFilter) -> RunList:
    """One page of runs, newest first."""
    names = names_of(desk, principal, narrow.repo)
    after = int(narrow.cursor) if narrow.cursor.isdecimal() and len(narrow.cursor) < 19 else None  # noqa: PLR2004 - 63 bits
    page = runs(desk.store, RunQuery(names=names, after=after, word=narrow.word, rule=narrow.rule, head=narrow.head.lower()))
    return RunList(
        rows=tuple(map(run_row, page.rows)),
        filter=narrow,
        repos=desk.access.visible(principal),
        next="" if page.after is None else str(page.after),
    )


def run(desk: Desk, principal: Principal, row: ScoreRow) -> RunView:
    """The page of one score that this principal may read."""
    level = desk.access.feedback(principal, row.repo)
    events = reading.events(desk.store, row.n)
    told = level == "full" or row.state in ("superseded", "cancelled")
    view = RunView(
        row=run_row(row),
        submitted_at=row.queued_at,
        started_at=row.started_at,
        finished_at=row.ended_at,
        outcome=_sentence(row, events if level == "full" else ()),
        why=(row.problem if told else "") if row.merge is None else "",
        steps=_steps(row, events),
        feedback=level,
        superseded_by=_newer(desk, row) if row.state == "superseded" else "",
        log=None if row.log_index is None or level != "full" else LogPlace(index=row.log_index, size=0, root=""),
    )
    decision = decision_of(desk.store, row)
    if decision is None:
        return view if row.merge is None else _without_evidence(view, row)
    return replace(
        decided(view, feedback.redacted(decision, level)),
        downloads=_downloads(desk, row, level == "full"),
        signed_by=_signer(desk, row) if level == "full" else "",
    )


def _signer(desk: Desk, row: ScoreRow) -> str:
    content = reading.evidence(desk.store, row.n, "decision.dsse.json")
    envelope = {} if content is None else mapping(json.loads(content))
    return ", ".join(str(mapping(signature).get("keyid") or "a key without a name") for signature in listed(envelope.get("signatures")))


def _without_evidence(view: RunView, row: ScoreRow) -> RunView:
    told = "All three legs passed: this change may merge." if row.merge else "Blocked."
    return replace(view, outcome=f"{told} The evidence is older than the service keeps it.")


def _sentence(row: ScoreRow, events: tuple[EventRow, ...]) -> str:
    last = next((event.text for event in reversed(events) if event.text), "")
    match state_of(row):
        case "queued":
            return "Waiting for a free worker."
        case "running":
            return last if last and events[-1].kind != "queued" else f"Under way: {row.state}."
        case "superseded":
            return "A newer head of the same branch is judged instead."
        case "cancelled":
            return "Cancelled before there was a decision: the merge stays blocked."
        case "failed":
            return "No decision could be reached: the merge stays blocked."
        case "decided":
            return ""


def _steps(row: ScoreRow, events: tuple[EventRow, ...]) -> tuple[Step, ...]:
    at = {event.kind: event.at for event in events}
    if row.state == "done":
        return ()
    known = [state for _, state in _STEPS]
    if row.state in known:
        here = known.index(row.state)
        broken = False
    else:
        here = max((place for place, state in enumerate(known) if state in at), default=0)
        broken = True
    return tuple(
        Step(
            name=name,
            at=at.get(state),
            state="done" if place < here else ("broken" if broken else "now") if place == here else "ahead",
        )
        for place, (name, state) in enumerate(_STEPS)
    )


def _newer(desk: Desk, row: ScoreRow) -> str:
    newest = reading.scores(desk.store, (row.repo,), ref=row.ref, limit=1).rows if row.ref else ()
    return newest[0].id if newest and newest[0].n > row.n else ""


def _downloads(desk: Desk, row: ScoreRow, full: bool) -> tuple[Download, ...]:  # noqa: FBT001 - a fact, not a switch
    root = f"/v1/scores/{row.id}"
    if not full:
        return (Download(name="decision.json", href=f"{root}/decision.json", what="as far as this token may see it"),)
    there = dict(reading.evidence_names(desk.store, row.n))
    made = [Download(name=name, href=f"{root}/evidence/{name}", what=what) for name, what in _FILES.items() if name in there]
    if "decision.dsse.json" in there:
        made.append(Download(name="decision.dsse.json", href=f"{root}/dsse", what="signed; check it with `trivet verify`"))
    return tuple(made)


def _told_in_full(desk: Desk, principal: Principal, names: tuple[str, ...]) -> tuple[str, ...]:
    """Repositories of which this reader may see everything: a lease names a sealed test and how it fails."""
    return tuple(name for name in names if desk.access.feedback(principal, name) == "full")


def leases(desk: Desk, principal: Principal, repo: str) -> LeaseList:
    """All leases, those that end first first."""
    names = _told_in_full(desk, principal, names_of(desk, principal, repo))
    rows = tuple(
        LeaseRow(
            repo=row.repo,
            test=f"{row.path}::{row.qualname}" if row.path and "::" not in row.qualname else row.qualname,
            owner=row.owner,
            reason=row.reason,
            signature=row.signature,
            expires_at=row.expires_at,
            since=row.first_seen_at,
            base=row.base,
        )
        for row in reading.leases(desk.store, names)
    )
    return LeaseList(rows=rows, repos=desk.access.visible(principal), repo=repo)


def flaky(desk: Desk, principal: Principal, repo: str) -> FlakyList:
    """Flaky tests, most often seen first; of repositories whose feedback tells all."""
    names = _told_in_full(desk, principal, names_of(desk, principal, repo))
    rows = tuple(
        FlakyRow(
            repo=row.repo, test=row.test, seen=row.seen, first_at=row.first_at, last_at=row.last_at, last_run=row.last_score,
            why=row.why,
        )
        for row in reading.flaky(desk.store, names)
    )  # fmt: skip
    return FlakyList(rows=rows, repos=desk.access.visible(principal), repo=repo)


def owners(desk: Desk, principal: Principal, repo: str) -> OwnersView:
    """Who may change oracles."""
    names = names_of(desk, principal, repo)
    rules: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for row in reading.owners(desk.store, names):
        rules.setdefault(row.repo, []).append((row.pattern, row.names))
    groups = tuple(OwnerGroup(repo=name, rules=tuple(rows)) for name, rows in rules.items())
    return OwnersView(groups=groups, repos=desk.access.visible(principal), repo=repo)


def tokens(desk: Desk) -> tuple[TokenRow, ...]:
    """All access tokens, for administrators."""
    return tuple(
        TokenRow(
            name=row.name,
            scopes=row.scopes,
            repos=() if keyring.ALL in row.repos else row.repos,
            created_at=row.made_at,
            expires_at=row.expires_at,
            used_at=row.used_at,
            revoked=row.revoked_at is not None,
        )
        for row in keyring.tokens(desk.store)
    )
