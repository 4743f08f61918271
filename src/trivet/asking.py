"""Asking a scoring service over HTTP, with the standard library alone: what `trivet submit` needs, and nothing more."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from urllib.parse import urlsplit

from trivet.errors import ServiceError, UsageError

_ANSWER_B = 64 * 1024 * 1024
_CALL_S = 30.0
_TRIES = 6
_PAUSE_S = (0.5, 5.0)
_LOCAL = ("localhost", "127.0.0.1", "::1")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to another place."""

    def redirect_request(self, *_args: object, **_more: object) -> None:
        """Follow none."""


class Service:
    """A scoring service.

    Args:
        address: ``https://HOST``; ``http`` only for this machine.
        token: a token with the scopes submit and read.

    Raises:
        UsageError: the address is no such one.
    """

    def __init__(self, address: str, token: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise UsageError("no address of a service", hint="name it with --server https://HOST, or set TRIVET_SERVER")
        if parts.scheme == "http" and parts.hostname not in _LOCAL:
            raise UsageError("a token is not sent over plain HTTP", where=address, hint="use https")
        self._address = address.rstrip("/")
        self._token = token
        self._opener = urllib.request.build_opener(
            _NoRedirect, urllib.request.ProxyHandler({}) if parts.hostname in _LOCAL else urllib.request.ProxyHandler()
        )

    def ask(self, *, repo: str, base: str, head: str, ref: str = "") -> dict[str, object]:
        """Ask for a score; asking again for the same one changes nothing.

        Raises:
            ServiceError: the service refused, or does not answer.
        """
        return self._object("POST", "/v1/scores", {"repo": repo, "base": base, "head": head, "ref": ref})

    def score(self, identity: str) -> dict[str, object]:
        """The state of a score."""
        return self._object("GET", f"/v1/scores/{identity}")

    def decision(self, identity: str) -> bytes:
        """The bytes of ``decision.json``."""
        return self._call("GET", f"/v1/scores/{identity}/decision.json")

    def wait(self, identity: str, *, timeout_s: float, say: Callable[[str], None] = lambda _: None) -> dict[str, object]:
        """Wait until a score has ended.

        Raises:
            ServiceError: it has not within ``timeout_s``, or the service does not answer.
        """
        until = time.monotonic() + timeout_s
        pause, known = _PAUSE_S[0], ""
        while True:
            answer = self.score(identity)
            if answer.get("state") != known:
                known = str(answer.get("state"))
                say(known)
            if answer.get("over") is True and answer.get("state") in ("done", "failed", "superseded", "cancelled"):
                return answer
            if time.monotonic() > until:
                raise ServiceError(
                    f"no decision within {timeout_s:g} s", where=identity, hint="it goes on; ask again with the same commits"
                )
            time.sleep(pause)
            pause = min(pause * 1.3, _PAUSE_S[1])

    def _object(self, method: str, path: str, body: dict[str, str] | None = None) -> dict[str, object]:
        try:
            data = json.loads(self._call(method, path, body))
        except ValueError as error:
            raise ServiceError("the service does not answer in JSON", where=self._address) from error
        if not isinstance(data, dict):
            raise ServiceError("the service does not answer as documented", where=self._address)
        return data

    def _call(self, method: str, path: str, body: dict[str, str] | None = None) -> bytes:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        problem = ""
        for attempt in range(_TRIES):
            request = urllib.request.Request(self._address + path, data=data, headers=headers, method=method)  # noqa: S310 - checked above
            try:
                with self._opener.open(request, timeout=_CALL_S) as answer:
                    content: bytes = answer.read(_ANSWER_B + 1)
                if len(content) > _ANSWER_B:
                    raise ServiceError("the answer is too large", where=self._address)
            except urllib.error.HTTPError as error:
                with error:
                    problem = _problem(error)
                if error.code not in (429, 502, 503, 504):
                    raise ServiceError(problem, where=self._address, hint=_HINTS.get(error.code, "")) from None
            except (OSError, http.client.HTTPException) as error:
                problem = f"the service does not answer: {getattr(error, 'reason', None) or error}"
            else:
                return content
            time.sleep(min(_PAUSE_S[0] * 2**attempt, 10.0))
        raise ServiceError(problem, where=self._address)


_HINTS = {
    401: "the token is unknown, expired or revoked",
    403: "the token lacks a scope for this",
    404: "the service knows no such repository, or the token is not for it",
}


def _problem(error: urllib.error.HTTPError) -> str:
    try:
        data = json.loads(error.read(65_536))
        told = str(data.get("message", "")) if isinstance(data, dict) else ""
    except (ValueError, OSError):
        told = ""
    return f"the service answered {error.code}" + (f": {told[:300]}" if told else "")
