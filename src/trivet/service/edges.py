"""The edge of the application: headers of every answer, and an end to bodies that come too slowly."""

from __future__ import annotations

import asyncio

from litestar.datastructures import MutableScopeHeaders
from litestar.enums import ScopeType
from litestar.types import ASGIApp, BeforeMessageSendHookHandler, Message, Receive, Scope, Send
from litestar.types.asgi_types import HTTPDisconnectEvent, ReceiveMessage

_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_ALWAYS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


def security_headers(*, https: bool) -> BeforeMessageSendHookHandler:
    """A hook that sets the security headers which an answer did not set itself; it also sees answers that no route gave.

    Args:
        https: whether the service is reached over TLS, so that browsers may be told to insist on it.
    """
    wanted = {**_ALWAYS, **({"strict-transport-security": "max-age=31536000"} if https else {})}

    async def set_headers(message: Message, _: Scope) -> None:
        if message["type"] == "http.response.start":
            headers = MutableScopeHeaders.from_message(message)
            for name, value in wanted.items():
                if name not in headers:
                    headers[name] = value

    return set_headers


def patience(seconds: float) -> type:
    """A middleware that gives up on a request whose body is not there after ``seconds``: it looks like one that hung up."""

    class Patience:
        def __init__(self, app: ASGIApp) -> None:
            self.app = app

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != ScopeType.HTTP:
                await self.app(scope, receive, send)
                return
            loop = asyncio.get_running_loop()
            until = loop.time() + seconds
            whole = False

            async def receiving() -> ReceiveMessage:
                nonlocal whole
                if whole:
                    return await receive()
                try:
                    async with asyncio.timeout_at(until):
                        message = await receive()
                except TimeoutError:
                    whole = True
                    return HTTPDisconnectEvent(type="http.disconnect")
                whole = message["type"] != "http.request" or not message.get("more_body", False)
                return message

            await self.app(scope, receiving, send)

    return Patience
