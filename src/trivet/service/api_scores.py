"""``/v1/scores``: ask for a score, watch it, read what was decided."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from litestar import MediaType, Response, delete, get, post
from litestar.exceptions import (
    ClientException,
    NotFoundException,
    PermissionDeniedException,
    ServiceUnavailableException,
    TooManyRequestsException,
)
from litestar.params import HeaderParameter, JSONBody, PathParameter, QueryParameter
from litestar.response import ServerSentEvent
from litestar.response.sse import ServerSentEventMessage
from litestar.types import ControllerRouterHandler

from trivet.errors import StoreError
from trivet.service import feedback, reading
from trivet.service.access import Principal, need_somebody
from trivet.service.answers import DOCUMENT, REFUSALS, ScoreAnswer, ScorePage, ScoreRequest, decision_of, event_answer, score_answer
from trivet.service.app import Asked, Asking, AtDesk, address
from trivet.service.asking import FullError, ask_for, cancel
from trivet.service.desk import Desk
from trivet.service.rows import ScoreRow
from trivet.service.rows import State as ScoreState
from trivet.service.settings import Scope
from trivet.service.store import score as stored

_WATCH_S = 0.5
_ALIVE_S = 15.0
_WORDS = {f"{leg}.txt": leg for leg in ("src_score", "oracle_integrity", "flake_lease")}
Identity = Annotated[str, PathParameter(pattern=r"^[0-9a-f]{24}$", description="the id of a score")]


def found(desk: Desk, principal: Principal, identity: str, scope: Scope = "read") -> ScoreRow:
    """The score of that id, if the principal may do this with it; otherwise it does not exist."""
    try:
        row: ScoreRow | None = stored(desk.store, identity)
    except StoreError as error:
        if not error.message.startswith("no score"):
            raise
        row = None
    desk.access.need_score(principal, scope, row)
    if row is None:  # need_score has refused
        raise NotFoundException("no such score")
    return row


@post("/v1/scores", responses=REFUSALS, status_code=202, sync_to_thread=True, summary="Ask for a score", raises=[TooManyRequestsException])
def ask_score(data: JSONBody[ScoreRequest], desk: AtDesk, principal: Asking, request: Asked) -> Response[ScoreAnswer]:
    """Ask for a score. The same repository, base, head and policy gives the same score; one that stands is given at once, with 200."""
    if principal.by == "session":
        raise PermissionDeniedException("ask with a token, not with a browser session")
    repo = desk.access.need(principal, "submit", data.repo)
    if desk.draining():
        raise ServiceUnavailableException("the service is stopping; ask again", headers={"Retry-After": "10"})
    if data.base == data.head:
        raise ClientException("base and head are the same commit")
    try:
        row, made = ask_for(desk, repo, base=data.base, head=data.head, ref=data.ref, source="api", asked_by=principal.who)
    except FullError as error:
        raise TooManyRequestsException(error.message, headers={"Retry-After": "30"}) from error
    desk.audit.add(principal.who, "ask", repo=repo.name, target=row.id, address=address(request), at_once=made)
    level = desk.access.feedback(principal, repo.name)
    answer = score_answer(row, level, decision=decision_of(desk.store, row), told=desk.access.may_read(principal, repo.name))
    status = 200 if row.state == "done" else 202
    return Response(answer, status_code=status, headers={"location": f"/v1/scores/{row.id}"})


@get("/v1/scores", responses=REFUSALS, sync_to_thread=True, summary="List scores")
def list_scores(
    desk: AtDesk,
    principal: Asking,
    repo: Annotated[str | None, QueryParameter(max_length=100)] = None,
    after: Annotated[int | None, QueryParameter(ge=1, le=2**62)] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=500)] = 50,
    merge: Annotated[bool | None, QueryParameter()] = None,
    score_state: Annotated[ScoreState | None, QueryParameter(name="state")] = None,
) -> ScorePage:
    """A page of the scores that may be read, newest first."""
    if repo is not None:
        desk.access.need(principal, "read", repo)
        names: tuple[str, ...] = (repo,)
    else:
        names = desk.access.visible(principal)
        if not names:
            need_somebody(principal)
    page = reading.scores(desk.store, names, after=after, limit=limit, merge=merge, state=score_state)
    rows = [score_answer(row, desk.access.feedback(principal, row.repo)) for row in page.rows]
    more = {"repo": repo, "limit": limit, "merge": merge, "state": score_state, "after": page.after}
    query = "&".join(f"{key}={str(value).lower()}" for key, value in more.items() if value is not None)
    return ScorePage(scores=rows, next=None if page.after is None else f"/v1/scores?{query}")


@get("/v1/scores/{identity:str}", responses=REFUSALS, sync_to_thread=True, summary="Read a score")
def read_score(identity: Identity, desk: AtDesk, principal: Asking) -> ScoreAnswer:
    """The state of a score, and its decision as soon as it stands."""
    row = found(desk, principal, identity)
    return score_answer(row, desk.access.feedback(principal, row.repo), decision=decision_of(desk.store, row))


@delete("/v1/scores/{identity:str}", responses=REFUSALS, status_code=200, sync_to_thread=True, summary="Cancel a score")
def cancel_score(identity: Identity, desk: AtDesk, principal: Asking, request: Asked) -> ScoreAnswer:
    """Cancel a score that has not ended; what runs for it is ended. A decision that stands is never taken back."""
    if principal.by == "session":
        raise PermissionDeniedException("cancel with a token, not with a browser session")
    row = found(desk, principal, identity, "submit")
    done = cancel(desk, row, f"cancelled by {principal.who}")
    desk.audit.add(
        principal.who,
        "cancel",
        repo=row.repo,
        target=row.id,
        address=address(request),
        outcome="granted" if done else "too late",
        at_once=True,
    )
    return score_answer(stored(desk.store, row.id), desk.access.feedback(principal, row.repo))


@get("/v1/scores/{identity:str}/events", responses=REFUSALS, sync_to_thread=False, media_type="text/event-stream", summary="Watch a score")
def watch_score(
    identity: Identity,
    desk: AtDesk,
    request: Asked,
    last_event_id: Annotated[str | None, HeaderParameter(name="last-event-id", max_length=20)] = None,
) -> ServerSentEvent:
    """What happens to a score, as server-sent events; ends when the score has ended. ``Last-Event-ID`` goes on where a reader stopped."""
    after = int(last_event_id) if last_event_id and last_event_id.isdecimal() and len(last_event_id) < 19 else 0  # noqa: PLR2004 - 63 bits
    principal = desk.access.principal(request)
    row = found(desk, principal, identity)
    return ServerSentEvent(_watch(desk, principal, row, after), headers={"x-accel-buffering": "no"})


async def _watch(desk: Desk, principal: Principal, row: ScoreRow, after: int) -> AsyncIterator[ServerSentEventMessage]:
    level = desk.access.feedback(principal, row.repo)
    quiet = 0.0
    while True:
        now = await asyncio.to_thread(stored, desk.store, row.id)
        for event in await asyncio.to_thread(reading.events, desk.store, row.n, after=after):
            after, quiet = event.n, 0.0
            yield ServerSentEventMessage(id=event.n, event=event.kind, data=msgspec.json.encode(event_answer(event, level)).decode())
        if not now.open:
            yield ServerSentEventMessage(event="end", data=msgspec.json.encode(score_answer(now, level)).decode())
            return
        if desk.draining():
            return
        await asyncio.sleep(_WATCH_S)
        quiet += _WATCH_S
        if quiet >= _ALIVE_S:
            quiet = 0.0
            yield ServerSentEventMessage(comment="still here")


@get(
    "/v1/scores/{identity:str}/verdicts/{name:str}",
    responses=REFUSALS,
    sync_to_thread=True,
    media_type=MediaType.TEXT,
    summary="Read one word",
)
def read_word(identity: Identity, name: Annotated[str, PathParameter(max_length=40)], desk: AtDesk, principal: Asking) -> str:
    """``src_score.txt``, ``oracle_integrity.txt`` or ``flake_lease.txt``: one word and a newline; ``NOT_RUN`` until a decision stands."""
    row = found(desk, principal, identity)
    if name not in _WORDS:
        raise NotFoundException("no such verdict; there are " + ", ".join(_WORDS))
    word = getattr(row, _WORDS[name]) if row.merge is not None else None
    return f"{word or 'NOT_RUN'}\n"


@get("/v1/scores/{identity:str}/decision.json", responses=DOCUMENT, sync_to_thread=True, summary="Read the decision")
def read_decision(identity: Identity, desk: AtDesk, principal: Asking) -> Response[bytes]:
    """The decision: the very bytes that were signed at feedback ``full``, otherwise what the level allows."""
    row = found(desk, principal, identity)
    level = desk.access.feedback(principal, row.repo)
    content = reading.evidence(desk.store, row.n, "decision.json") if row.merge is not None else None
    if content is None:
        raise NotFoundException("no decision stands, or its evidence is older than the service keeps it")
    if level != "full":
        content = msgspec.json.encode(feedback.redacted(msgspec.json.decode(content, type=dict[str, object]), level))
    return Response(content, media_type=MediaType.JSON)


@get("/v1/scores/{identity:str}/dsse", responses=REFUSALS, sync_to_thread=True, summary="Read the signed envelope")
def read_envelope(identity: Identity, desk: AtDesk, principal: Asking) -> Response[bytes]:
    """The signed decision (an in-toto statement in a DSSE envelope), at feedback ``full``."""
    row = found(desk, principal, identity)
    if desk.access.feedback(principal, row.repo) != "full":
        raise PermissionDeniedException("the envelope names what this level of feedback does not tell")
    content = reading.evidence(desk.store, row.n, "decision.dsse.json") if row.merge is not None else None
    if content is None:
        raise NotFoundException("no signed decision")
    return Response(content, media_type="application/vnd.in-toto+json")


@get("/v1/scores/{identity:str}/evidence/{name:str}", responses=REFUSALS, sync_to_thread=True, summary="Download a file of the verdict")
def read_evidence(
    identity: Identity, name: Annotated[str, PathParameter(max_length=60)], desk: AtDesk, principal: Asking
) -> Response[bytes]:
    """One of the files that the command wrote, at feedback ``full``."""
    row = found(desk, principal, identity)
    if name not in feedback.FILES["full"]:
        raise NotFoundException("no such file")
    if name not in feedback.FILES[desk.access.feedback(principal, row.repo)]:
        raise PermissionDeniedException("this level of feedback does not tell that")
    content = reading.evidence(desk.store, row.n, name) if row.merge is not None else None
    if content is None:
        raise NotFoundException("no such file")
    # Text as it came out of a stranger's run: never shown as a page.
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type="application/octet-stream", headers=headers)


def routes() -> list[ControllerRouterHandler]:
    """The handlers of this room."""
    return [ask_score, list_scores, read_score, cancel_score, watch_score, read_word, read_decision, read_envelope, read_evidence]
