"""Tokens of a GitHub App: made from its private key, kept until shortly before they expire, never shown.

The key's statement is gidgethub's; the call goes over the same wire as all others, to the address that the caller named.
"""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable
from typing import Any

from trivet.errors import ForgeError, UsageError
from trivet.forge.github import plain_headers
from trivet.forge.wire import Patience, Wire

RENEW_S = 300.0
"""A token is renewed this long before it expires."""
_LIFE_S = 3600.0


class AppTokens:
    """The tokens of one installation of an App; an instance is what `GitHub` takes as ``token``. Safe to use from several threads.

    Args:
        url: the address of the API.
        app: the App's number or client id.
        installation: the number of the installation.
        key: the App's private key (PEM).
        repositories: the names (without owner) that the token is narrowed to, () for all that the installation has.
        wire: arguments of `Wire` that tests replace.
    """

    def __init__(
        self,
        url: str,
        *,
        app: str,
        installation: int,
        key: str,
        repositories: tuple[str, ...] = (),
        patience: Patience | None = None,
        clock: Callable[[], float] = time.monotonic,
        **wire: Any,
    ) -> None:
        self._app, self._installation, self._key, self._repositories, self._clock = app, installation, key, repositories, clock
        self._wire = Wire(url, headers=plain_headers(), token=self._statement, patience=patience, **wire)
        self._lock = threading.Lock()
        self._token, self._until = "", 0.0

    def __call__(self) -> str:
        """A token that is good for the next minutes.

        Raises:
            ForgeError: none can be had.
        """
        with self._lock:
            if not self._token or self._clock() >= self._until:
                self._renew()
            return self._token

    def close(self) -> None:
        """Give the connections back."""
        self._wire.close()

    def _renew(self) -> None:
        body: dict[str, object] = {"permissions": {"checks": "write", "pull_requests": "write", "contents": "read"}}
        if self._repositories:
            body["repositories"] = list(self._repositories)
        data = self._wire.send("POST", f"/app/installations/{int(self._installation)}/access_tokens", body)
        token, expires = (data.get("token"), data.get("expires_at")) if isinstance(data, dict) else (None, None)
        if not isinstance(token, str) or not token:
            raise ForgeError("the App got no token", hint="is it installed for this repository?")
        self._token, self._until = token, self._clock() + max(0.0, _life(expires) - RENEW_S)

    def _statement(self) -> dict[str, str]:
        try:
            import jwt  # noqa: PLC0415 - only Apps pay for it
            from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
            from gidgethub.apps import get_jwt  # noqa: PLC0415
        except ImportError:
            raise UsageError("an App needs the extra `forge`", hint="pip install 'trivet[forge]'") from None
        try:
            return {"authorization": f"Bearer {get_jwt(app_id=self._app, private_key=self._key)}"}
        except (ValueError, TypeError, UnsupportedAlgorithm, jwt.PyJWTError):
            raise ForgeError("the App's private key cannot be used", hint="it is the PEM file that GitHub made for the App") from None


def _life(expires: object) -> float:
    """Seconds that a token lives: GitHub says until when, and always gives an hour."""
    if not isinstance(expires, str):
        return _LIFE_S
    try:
        dt.datetime.fromisoformat(expires)
    except ValueError as error:
        raise ForgeError("the App's token does not say until when it is good") from error
    return _LIFE_S
