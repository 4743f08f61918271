"""Signing in with a token, signing out, and the proof that a form is ours.

A session is a random secret in a cookie that scripts cannot read; the store has its digest alone, and it ends with its token. A form
carries a proof that is derived from a secret cookie: another site can neither read the cookie nor make the proof.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Annotated

from litestar import MediaType, Response, get, post
from litestar.datastructures import Cookie
from litestar.enums import RequestEncodingType
from litestar.exceptions import PermissionDeniedException
from litestar.params import Body, QueryParameter
from litestar.response import Redirect

from trivet import __version__
from trivet.service import keyring, rendering
from trivet.service.access import COOKIE
from trivet.service.app import Asked, Asking, AtDesk, address
from trivet.service.desk import Desk
from trivet.service.views import Frame

FORM_COOKIE = "trivet_form"
"""The cookie behind the form of somebody who has no session yet."""
_FORM_S = 3600
_TOKEN_LIMIT = 4096


def form_proof(request: Asked, secret: str = "") -> str:
    """The proof that a form of this reader carries; empty for a reader without any cookie of ours."""
    known = secret or request.cookies.get(COOKIE) or request.cookies.get(FORM_COOKIE) or ""
    return hashlib.sha256(b"trivet form\0" + known.encode("utf-8", "replace")).hexdigest() if known else ""


def prove(request: Asked, given: str) -> None:
    """Refuse a form that is not ours.

    Raises:
        PermissionDeniedException: it was sent by another site, or its proof is not that of this reader.
    """
    # Browsers say where a request comes from; those that do not are left to the proof.
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise PermissionDeniedException("this form was sent by another site")
    wanted = form_proof(request)
    if not wanted or not hmac.compare_digest(wanted, given.encode("ascii", "replace").decode()):
        raise PermissionDeniedException("this form is too old or not from here; load the page again")


def safe_place(place: str) -> str:
    """An address of this service to go to after signing in; anything else becomes the first page."""
    return (
        place
        if re.fullmatch(r"/(?!/)[A-Za-z0-9._~!$&'()*+,;=:@%/?-]{0,500}", place) and not place.startswith(("/login", "/logout"))
        else "/"
    )


def _secure(desk: Desk) -> bool:
    return desk.settings.server.public_url.startswith("https://")


@get("/login", sync_to_thread=True, include_in_schema=False)
def log_in_page(desk: AtDesk, request: Asked, to: Annotated[str, QueryParameter(max_length=600)] = "/") -> Response[str]:
    """The form that takes a token."""
    return _form(desk, request, to=safe_place(to))


def _form(desk: Desk, request: Asked, *, to: str, problem: str = "", status: int = 200) -> Response[str]:
    secret = request.cookies.get(FORM_COOKIE) or secrets.token_urlsafe(24)
    # The form's cookie and not the session's: a session that has ended must not be in the way.
    proof = form_proof(request, secret if COOKIE not in request.cookies else "")
    page = rendering.render("login", Frame(now=desk.clock(), section="login", version=__version__), csrf=proof, to=to, problem=problem)
    cookie = Cookie(key=FORM_COOKIE, value=secret, max_age=_FORM_S, path="/", httponly=True, samesite="strict", secure=_secure(desk))
    return Response(page, media_type=MediaType.HTML, status_code=status, cookies=[cookie])


@post("/login", sync_to_thread=True, include_in_schema=False, status_code=303)
def log_in(
    desk: AtDesk, request: Asked, data: Annotated[dict[str, str], Body(media_type=RequestEncodingType.URL_ENCODED)]
) -> Response[str] | Redirect:
    """Open a session for a token that may read."""
    prove(request, str(data.get("csrf", "")))
    to, secret = safe_place(str(data.get("to", "/"))), str(data.get("token", "")).strip()[:_TOKEN_LIMIT]
    now = desk.clock()
    token = keyring.find_token(desk.store, secret, now)
    if token is None:
        desk.audit.add("", "sign in", address=address(request), outcome="refused", at_once=True)
        return _form(desk, request, to=to, problem="This token is not known, has ended or was revoked.", status=403)
    if not {"read", "admin"} & set(token.scopes):
        desk.audit.add(token.name, "sign in", address=address(request), outcome="refused", at_once=True)
        return _form(desk, request, to=to, problem="This token may not read. Ask for one with the scope read.", status=403)
    session = keyring.open_session(desk.store, token, now, desk.settings.server.session_s)
    desk.audit.add(token.name, "sign in", address=address(request), at_once=True)
    # Lax and not strict: a link in a check of the forge must lead to the page. Forms need their proof all the same.
    cookie = Cookie(
        key=COOKIE,
        value=session,
        max_age=int(desk.settings.server.session_s),
        path="/",
        httponly=True,
        samesite="lax",
        secure=_secure(desk),
    )
    return Redirect(to, status_code=303, cookies=[cookie])


@post("/logout", sync_to_thread=True, include_in_schema=False, status_code=303)
def log_out(
    desk: AtDesk, principal: Asking, request: Asked, data: Annotated[dict[str, str], Body(media_type=RequestEncodingType.URL_ENCODED)]
) -> Redirect:
    """End the session, here and in the store."""
    prove(request, str(data.get("csrf", "")))
    keyring.close_session(desk.store, request.cookies.get(COOKIE, ""))
    desk.audit.add(principal.who, "sign out", address=address(request), at_once=True)
    gone = Cookie(key=COOKIE, value="", max_age=0, path="/", httponly=True, samesite="lax", secure=_secure(desk))
    return Redirect("/login", status_code=303, cookies=[gone])
