"""The ASGI application: routes, limits, headers, errors. Handlers are thin; ``Desk`` holds what they need."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Sequence

from litestar import Litestar, MediaType, Request, Response, Router
from litestar.config.allowed_hosts import AllowedHostsConfig
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.di import NamedDependency, Provide
from litestar.exceptions import HTTPException
from litestar.handlers import BaseRouteHandler
from litestar.middleware.rate_limit import RateLimitConfig
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.types import ControllerRouterHandler

from trivet import __version__
from trivet.errors import TrivetError
from trivet.service import logs
from trivet.service.access import Principal, need_somebody
from trivet.service.desk import Desk
from trivet.service.edges import patience, security_headers
from trivet.service.metrics import Metrics, counted

_FLUSH_S = 0.5
Asked = Request[object, object, State]
AtDesk = NamedDependency[Desk]
"""What a handler writes for its ``desk``."""
Asking = NamedDependency[Principal]
"""What a handler writes for its ``principal``: who asks."""


def create_app(desk: Desk, *, routes: Sequence[ControllerRouterHandler]) -> Litestar:
    """Build the application.

    Args:
        desk: what the handlers work with.
        routes: handlers and routers (``api.routes()``, ``pages.routes(…)``).
    """
    server = desk.settings.server
    limit = RateLimitConfig(
        rate_limit=("minute", server.requests_per_minute), identifier_for_request=counted_as, exclude=["^/healthz$", "^/readyz$"]
    )
    schema = OpenAPIConfig(
        title="trivet",
        version=__version__,
        description="Scores for commits: three verdicts, joined by AND.",
        path="/v1",
        render_plugins=[JsonRenderPlugin(path="/openapi.json")],
        openapi_router=Router(path="/v1", route_handlers=[], guards=[_known], include_in_schema=False),
        components=Components(security_schemes={"token": SecurityScheme(type="http", scheme="bearer")}),
        security=[{"token": []}],
    )
    metrics = Metrics(desk.store, desk.clock)
    return Litestar(
        # One router, so that each path is registered once: Litestar wraps a handler anew each time its path gets one more.
        route_handlers=[Router(path="/", route_handlers=list(routes))],
        state=State({"desk": desk, "metrics": metrics}),
        dependencies={"desk": Provide(_desk, sync_to_thread=False), "principal": Provide(principal, sync_to_thread=True)},
        middleware=[
            counted(metrics),
            patience(server.request_timeout_s),
            limit.middleware,
        ],
        before_send=[security_headers(https=server.public_url.startswith("https://"))],
        exception_handlers={HTTPException: _refused, TrivetError: _failed, Exception: _broke},
        request_max_body_size=server.body_limit_b,
        allowed_hosts=AllowedHostsConfig(allowed_hosts=list(server.hosts)) if server.hosts else None,
        openapi_config=schema,
        lifespan=[_background],
        logging_config=None,
        debug=False,
    )


def _desk(state: State) -> Desk:
    found: Desk = state.desk
    return found


def principal(request: Asked) -> Principal:
    """Who asks, for handlers that name a ``principal``."""
    found: Desk = request.app.state.desk
    return found.access.principal(request)


def _known(connection: ASGIConnection[object, object, object, State], _: BaseRouteHandler) -> None:
    found: Desk = connection.app.state.desk
    need_somebody(found.access.principal(connection))


def counted_as(request: Request[object, object, State]) -> str:
    """Whose requests are counted together: a credential's, or an address's. Never the secret itself."""
    header = request.headers.get("authorization", "")
    return hashlib.sha256(header.encode("utf-8", "replace")).hexdigest()[:32] if header else address(request)


def address(request: Request[object, object, State]) -> str:
    """From where a request comes; a proxy's word counts only where ``server.trusted_proxies`` names it (uvicorn sees to that)."""
    return request.client.host if request.client else "local"


def _refused(request: Asked, error: HTTPException) -> Response[dict[str, object]]:
    desk: Desk = request.app.state.desk
    if error.status_code in (401, 403):
        with contextlib.suppress(TrivetError):
            desk.audit.add("", request.method + " " + request.url.path, address=address(request), outcome="refused")
    known = error.status_code < 500  # noqa: PLR2004 - our own words, not a traceback's
    detail = error.detail if known else "the service failed"
    content: dict[str, object] = {"status": error.status_code, "message": detail}
    if isinstance(error.extra, list) and known:
        content["problems"] = [
            {"key": row.get("key", ""), "message": row.get("message", "")} for row in error.extra if isinstance(row, dict)
        ]
    return Response(content, status_code=error.status_code, headers=error.headers or {}, media_type=MediaType.JSON)


def _failed(request: Asked, error: TrivetError) -> Response[dict[str, object]]:
    logs.log().error("failed", code=error.code, message=error.message, path=request.url.path)
    return Response({"status": 503, "code": error.code, "message": error.message}, status_code=503, headers={"retry-after": "5"})


def _broke(request: Asked, error: Exception) -> Response[dict[str, object]]:
    logs.log().error("broke", kind=type(error).__name__, path=request.url.path, exc_info=error)
    return Response({"status": 500, "message": "the service failed"}, status_code=500)


@contextlib.asynccontextmanager
async def _background(app: Litestar) -> AsyncIterator[None]:
    desk: Desk = app.state.desk

    async def keep_flushing() -> None:
        while True:
            await asyncio.sleep(_FLUSH_S)
            with contextlib.suppress(TrivetError):
                await asyncio.to_thread(desk.audit.flush)

    task = asyncio.create_task(keep_flushing())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await asyncio.to_thread(desk.audit.flush)
