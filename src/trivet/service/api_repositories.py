"""``/v1/repos``: what stands about a repository; ``/badge.svg``, health and metrics."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import MediaType, Response, get
from litestar.datastructures import State
from litestar.params import PathParameter, QueryParameter
from litestar.types import ControllerRouterHandler

from trivet.errors import TrivetError
from trivet.service import metrics, reading, schema
from trivet.service.access import Principal, need_somebody
from trivet.service.answers import REFUSALS, LeaseList, ScoreAnswer, lease_answer, score_answer
from trivet.service.app import Asking, AtDesk
from trivet.service.badge import badge
from trivet.service.desk import Desk
from trivet.service.rows import DayRow, ReasonRow

RepoName = Annotated[str, PathParameter(max_length=100, description="the name of a repository in service.toml")]


class RepositoryAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A repository, its decisions of the last 30 days and its last score."""

    name: str
    branches: tuple[str, ...]
    feedback: str
    merged: int
    blocked: int
    undecided: int
    last: ScoreAnswer | None


class History(msgspec.Struct, frozen=True, kw_only=True):
    """Decisions and block reasons a day (days since the epoch, UTC), and the newest scores."""

    repo: str
    days: tuple[DayRow, ...]
    reasons: tuple[ReasonRow, ...]
    scores: list[ScoreAnswer]
    next: str | None


@get("/v1/repos", responses=REFUSALS, sync_to_thread=True, summary="List repositories")
def list_repositories(desk: AtDesk, principal: Asking) -> list[RepositoryAnswer]:
    """The repositories that may be read."""
    names = desk.access.visible(principal)
    if not names:
        need_somebody(principal)
    made = []
    for row in reading.repositories(desk.store, names, since_day=int(desk.clock() // 86_400) - 30):
        settings = desk.settings.repository(row.name)
        if settings is None:
            continue
        level = desk.access.feedback(principal, row.name)
        last = None if row.last is None else score_answer(row.last, level)
        made.append(
            RepositoryAnswer(
                name=row.name,
                branches=settings.branches,
                feedback=level,
                merged=row.merged,
                blocked=row.blocked,
                undecided=row.undecided,
                last=last,
            )
        )
    return made


@get("/v1/repos/{repo:str}/leases", responses=REFUSALS, sync_to_thread=True, summary="List leases")
def list_leases(repo: RepoName, desk: AtDesk, principal: Asking) -> LeaseList:
    """The leases of the newest base that was judged; at feedback ``full`` alone, since a lease names a sealed test and how it fails."""
    desk.access.need(principal, "read", repo)
    rows = reading.leases(desk.store, (repo,))
    told = rows if desk.access.feedback(principal, repo) == "full" else ()
    return LeaseList(repo=repo, base=rows[0].base if rows else None, leases=[lease_answer(row, desk.clock()) for row in told])


@get("/v1/repos/{repo:str}/history", responses=REFUSALS, sync_to_thread=True, summary="Read the history")
def read_history(
    repo: RepoName,
    desk: AtDesk,
    principal: Asking,
    days: Annotated[int, QueryParameter(ge=1, le=3650)] = 30,
    after: Annotated[int | None, QueryParameter(ge=1, le=2**62)] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=500)] = 50,
) -> History:
    """Decisions a day, block reasons a day, and a page of scores, newest first."""
    desk.access.need(principal, "read", repo)
    level = desk.access.feedback(principal, repo)
    page = reading.scores(desk.store, (repo,), after=after, limit=limit)
    return History(
        repo=repo,
        days=reading.days(desk.store, (repo,), now=desk.clock(), days=days),
        reasons=reading.reasons(desk.store, (repo,), now=desk.clock(), days=days) if level != "verdict" else (),
        scores=[score_answer(row, level) for row in page.rows],
        next=None if page.after is None else f"/v1/repos/{repo}/history?days={days}&limit={limit}&after={page.after}",
    )


@get("/v1/repos/{repo:str}/badge.svg", responses=REFUSALS, sync_to_thread=True, media_type="image/svg+xml", summary="Read the badge")
def read_badge(
    repo: RepoName, desk: AtDesk, principal: Asking, ref: Annotated[str | None, QueryParameter(max_length=300)] = None
) -> Response[str]:
    """The last decision as a badge. Only a repository that the settings call public has one for those without a token."""
    return _badge(desk, principal, repo, ref)


@get("/badge.svg", responses=REFUSALS, sync_to_thread=True, media_type="image/svg+xml", summary="Read the badge by name")
def read_badge_by_name(
    repo: Annotated[str, QueryParameter(max_length=100)],
    desk: AtDesk,
    principal: Asking,
    ref: Annotated[str | None, QueryParameter(max_length=300)] = None,
) -> Response[str]:
    """The same badge, for those who build addresses from a name."""
    return _badge(desk, principal, repo, ref)


def _badge(desk: Desk, principal: Principal, repo: str, ref: str | None) -> Response[str]:
    desk.access.need(principal, "read", repo)
    page = reading.scores(desk.store, (repo,), limit=1, state="done", ref=ref)
    row = page.rows[0] if page.rows else None
    word = "no verdict" if row is None else "may merge" if row.merge else "undecided" if row.cause == "infra" else "blocked"
    headers = {
        "cross-origin-resource-policy": "cross-origin",
        "cache-control": "max-age=60",
        "content-security-policy": "default-src 'none'",
    }
    return Response(badge(word), media_type="image/svg+xml", headers=headers)


@get("/healthz", responses=REFUSALS, sync_to_thread=False, media_type=MediaType.TEXT, security=[{}], summary="Whether the process lives")
def live() -> str:
    """Says ``ok``; it looks at nothing else."""
    return "ok\n"


@get("/readyz", responses=REFUSALS, sync_to_thread=True, media_type=MediaType.TEXT, security=[{}], summary="Whether it takes work")
def ready(desk: AtDesk) -> Response[str]:
    """Says ``ok`` when the store answers with the right schema, jobs are taken, and nobody asked the service to stop."""
    problem = ""
    try:
        schema.check(desk.store)
    except TrivetError as error:
        problem = error.message
    if not problem and not desk.jobs.ready():
        problem = "jobs are not taken"
    if not problem and desk.draining():
        problem = "stopping"
    return Response(f"{problem or 'ok'}\n", status_code=503 if problem else 200, media_type=MediaType.TEXT)


@get("/metrics", responses=REFUSALS, sync_to_thread=True, media_type=MediaType.TEXT, summary="Read metrics")
def read_metrics(desk: AtDesk, principal: Asking, state: State) -> Response[bytes]:
    """Metrics for Prometheus; needs a token that may read all repositories."""
    desk.access.need_everywhere(principal, "read")
    return Response(metrics.of(state).text(), media_type=metrics.CONTENT_TYPE)


@get("/v1/whoami", responses=REFUSALS, sync_to_thread=False, summary="Who asks")
def who_am_i(principal: Asking) -> dict[str, object]:
    """Who the service takes the caller for, and what is granted."""
    need_somebody(principal)
    return {"who": principal.who, "by": principal.by, "scopes": sorted(principal.scopes), "repos": sorted(principal.repos)}


def routes() -> list[ControllerRouterHandler]:
    """The handlers of this room."""
    return [list_repositories, list_leases, read_history, read_badge, read_badge_by_name, live, ready, read_metrics, who_am_i]
