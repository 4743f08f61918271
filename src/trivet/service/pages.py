"""The dashboard's routes: a request to a view, a view to HTML. A part of a page has the address of the page and ``part=…``.

Handlers run in threads, since the store and the templates do. What a page may show is decided by ``access`` and ``views_store``; a reader
without a session is sent to the sign-in page, and a refusal is a page as well.
"""

from __future__ import annotations

import contextlib
from typing import Annotated
from urllib.parse import quote

from litestar import MediaType, Response, Router, get
from litestar.exceptions import HTTPException, NotFoundException
from litestar.params import FromPath, QueryParameter
from litestar.response import Redirect
from litestar.types import ControllerRouterHandler

from trivet import __version__
from trivet.errors import TrivetError
from trivet.service import logs, rendering, views_settings, views_store
from trivet.service.access import NOBODY, Principal, need_somebody
from trivet.service.api_scores import Identity, found
from trivet.service.app import Asked, Asking, AtDesk
from trivet.service.desk import Desk
from trivet.service.pages_session import form_proof, log_in, log_in_page, log_out, safe_place
from trivet.service.views import Frame, LeaseList, Refusal, RunFilter

Html = Response[str]
Short = Annotated[str, QueryParameter(max_length=200)]
_YEAR = "public, max-age=31536000, immutable"
_TITLES = {
    400: "Not understood",
    403: "Not for this token",
    404: "Not here",
    405: "Not like this",
    413: "Too much",
    429: "Too many requests",
}


def frame_of(desk: Desk, principal: Principal, request: Asked, section: str) -> Frame:
    """What stands around a page for this reader."""
    return Frame(
        now=desk.clock(),
        section=section,
        reader=principal.who.partition(" (")[0] if principal.known else "",
        menu=bool(principal.known or desk.access.visible(principal)),
        admin=principal.everywhere and "admin" in principal.scopes,
        csrf=form_proof(request),
        version=__version__,
        address=desk.settings.server.public_url or str(request.base_url).rstrip("/"),
    )


def _page(name: str, frame: Frame, *, status: int = 200, **values: object) -> Html:
    return Response(rendering.render(name, frame, **values), media_type=MediaType.HTML, status_code=status)


def _readable(desk: Desk, principal: Principal) -> None:
    """Send who has not signed in to the sign-in page, where nothing is public."""
    if not desk.access.visible(principal):
        need_somebody(principal)


@get("/", sync_to_thread=True, include_in_schema=False)
def overview_page(desk: AtDesk, principal: Asking, request: Asked, repo: Short = "") -> Html:
    """The overview, of all repositories or of one."""
    _readable(desk, principal)
    frame = frame_of(desk, principal, request, "overview")
    return _page("overview", frame, view=views_store.overview(desk, principal, repo, frame.now))


@get("/queue", sync_to_thread=True, include_in_schema=False)
def queue_part(desk: AtDesk, principal: Asking, request: Asked, repo: Short = "") -> Html:
    """The queue, as a part of the overview that is asked for again and again."""
    _readable(desk, principal)
    return _page("queue", frame_of(desk, principal, request, "overview"), view=views_store.queue_view(desk, principal, repo))


@get("/scores", sync_to_thread=True, include_in_schema=False)
def runs_page(  # noqa: PLR0917 - the query of a list
    desk: AtDesk,
    principal: Asking,
    request: Asked,
    repo: Short = "",
    word: Annotated[str, QueryParameter(max_length=20)] = "",
    rule: Annotated[str, QueryParameter(max_length=20)] = "",
    head: Annotated[str, QueryParameter(max_length=64)] = "",
    cursor: Annotated[str, QueryParameter(max_length=20)] = "",
    part: Annotated[str, QueryParameter(max_length=10)] = "",
) -> Html:
    """A list of runs, or the rows that come after those of an earlier page."""
    _readable(desk, principal)
    narrow = RunFilter(repo=repo, word=word, rule=rule, head=head.strip(), cursor=cursor)
    view = views_store.run_list(desk, principal, narrow)
    return _page("run_rows" if part == "rows" else "runs", frame_of(desk, principal, request, "runs"), view=view)


@get("/scores/{identity:str}", sync_to_thread=True, include_in_schema=False)
def run_page(
    identity: Identity, desk: AtDesk, principal: Asking, request: Asked, part: Annotated[str, QueryParameter(max_length=10)] = ""
) -> Html:
    """One run; or its body alone, while it is followed."""
    row = found(desk, principal, identity)
    view = views_store.run(desk, principal, row)
    return _page("run_body" if part == "body" else "run", frame_of(desk, principal, request, "runs"), view=view)


@get("/leases", sync_to_thread=True, include_in_schema=False)
def leases_page(desk: AtDesk, principal: Asking, request: Asked, repo: Short = "") -> Html:
    """Leases on a time line."""
    _readable(desk, principal)
    frame = frame_of(desk, principal, request, "leases")
    view: LeaseList = views_store.leases(desk, principal, repo)
    first, last = rendering.axis(view, frame.now)
    return _page("leases", frame, view=view, first=first, last=last, states=rendering.lease_states(view, frame.now))


@get("/flaky", sync_to_thread=True, include_in_schema=False)
def flaky_page(desk: AtDesk, principal: Asking, request: Asked, repo: Short = "") -> Html:
    """Flaky tests."""
    _readable(desk, principal)
    return _page("flaky", frame_of(desk, principal, request, "flaky"), view=views_store.flaky(desk, principal, repo))


@get("/owners", sync_to_thread=True, include_in_schema=False)
def owners_page(desk: AtDesk, principal: Asking, request: Asked, repo: Short = "") -> Html:
    """Who may change oracles."""
    _readable(desk, principal)
    return _page("owners", frame_of(desk, principal, request, "owners"), view=views_store.owners(desk, principal, repo))


@get("/settings", sync_to_thread=True, include_in_schema=False)
def settings_page(desk: AtDesk, principal: Asking, request: Asked) -> Html:
    """What the service runs with; tokens for administrators of everything alone."""
    _readable(desk, principal)
    frame = frame_of(desk, principal, request, "settings")
    tokens = views_store.tokens(desk) if frame.admin else ()
    return _page(
        "settings", frame, view=views_settings.settings_view(desk.settings, desk.access.visible(principal), tokens, admin=frame.admin)
    )


@get("/static/{digest:str}/{name:str}", sync_to_thread=False, include_in_schema=False)
def static_file(digest: FromPath[str], name: FromPath[str]) -> Response[bytes]:
    """A file of the dashboard; its address has its digest, so it may be kept for ever."""
    if name not in rendering.STATIC or rendering.static_href(name) != f"/static/{digest}/{name}":
        raise NotFoundException("no such file")
    headers = {"cache-control": _YEAR}
    return Response(rendering.static(name), media_type=rendering.STATIC[name], headers=headers)


def _refused(request: Asked, error: HTTPException) -> Response[str] | Redirect:
    """A refusal as a page; who is not known may sign in and come back."""
    if error.status_code == 401:  # noqa: PLR2004 - HTTP's own number
        place = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        to = f"/login?to={quote(safe_place(place), safe='')}"
        if "hx-request" in request.headers:  # a part of a page cannot sign in: the whole page goes
            return Response("", status_code=401, headers={"hx-redirect": to}, media_type=MediaType.HTML)
        return Redirect(to, status_code=303)
    known = error.status_code < 500  # noqa: PLR2004 - our own words, not a traceback's
    return _refusal_page(
        request,
        Refusal(
            status=error.status_code,
            title=_TITLES.get(error.status_code, "Refused" if known else "The service failed"),
            message=f"{error.detail[:1].upper()}{error.detail[1:]}." if known and error.detail else "Nothing was changed.",
            hint="What a token may not see does not exist for it." if error.status_code == 404 else "",  # noqa: PLR2004
            href="/",
            label="To the overview",
        ),
    )


def _failed(request: Asked, error: TrivetError) -> Response[str]:
    logs.log().error("failed", code=error.code, message=error.message, path=request.url.path)
    told = Refusal(
        status=503,
        title="Not now",
        message="The service cannot read its store.",
        hint="Load the page again in a moment.",
        href="/",
        label="To the overview",
    )
    return _refusal_page(request, told)


def _refusal_page(request: Asked, told: Refusal) -> Response[str]:
    desk: Desk = request.app.state.desk
    principal = NOBODY
    with contextlib.suppress(HTTPException, TrivetError):  # a refusal must not fail for want of a reader
        principal = desk.access.principal(request)
    frame = frame_of(desk, principal, request, "")
    return _page("refusal", frame, status=told.status, view=told)


def routes() -> list[ControllerRouterHandler]:
    """The routes of the dashboard, with refusals that are pages."""
    pages = [
        overview_page,
        queue_part,
        runs_page,
        run_page,
        leases_page,
        flaky_page,
        owners_page,
        settings_page,
        log_in_page,
        log_in,
        log_out,
    ]
    router = Router(path="/", route_handlers=pages, exception_handlers={HTTPException: _refused, TrivetError: _failed})
    return [router, static_file]
