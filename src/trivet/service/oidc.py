"""Tokens that a CI gives its jobs: whose signature, issuer, audience and repository are checked, and which say nothing beyond that.

A repository is known by the number that its forge gave it, never by its name: a name can be taken over.
"""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from trivet.errors import ServiceError
from trivet.service import logs
from trivet.service.access import Principal
from trivet.service.settings import Oidc, Settings

Load = Callable[[Oidc], dict[str, object]]
_FRESH_S = 600.0
_AGAIN_S = 30.0
_TOKEN_B = 16_384
_KEYS_B = 1_048_576
_LEEWAY_S = 60
_LIFE_S = 3_600
"""A CI token that claims to live longer is none."""


def load_keys(issuer: Oidc) -> dict[str, object]:
    """The public keys of an issuer, from its file or its address.

    Raises:
        ServiceError: they cannot be had.
    """
    try:
        if issuer.keys_file is not None:
            data = issuer.keys_file.read_bytes()
        else:
            request = urllib.request.Request(issuer.keys_url, headers={"Accept": "application/json"})  # noqa: S310 - https, see below
            with urllib.request.build_opener(_NoRedirect).open(request, timeout=10) as answer:
                data = answer.read(_KEYS_B + 1)
        if len(data) > _KEYS_B:
            raise ServiceError("the keys of an issuer are too many", where=issuer.issuer)
        found = json.loads(data)
    except (OSError, ValueError) as error:
        raise ServiceError(f"the keys of an issuer cannot be had: {error}", where=issuer.issuer) from error
    if not isinstance(found, dict):
        raise ServiceError("the keys of an issuer are no key set", where=issuer.issuer)
    return found


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: object, **_more: object) -> None:
        return None


@dataclass
class _Known:
    keys: KeySet
    at: float


@dataclass(kw_only=True)
class CiTokens:
    """Reads CI tokens for ``Access``; ``read`` gives nobody for whatever is not good."""

    settings: Settings
    clock: Callable[[], float]
    load: Load = load_keys
    _known: dict[str, _Known] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, token: str) -> Principal | None:
        """Who a CI token speaks for: the listed repositories with the number that it names, for what the settings grant."""
        if len(token) > _TOKEN_B or token.count(".") != 2:  # noqa: PLR2004 - three parts
            return None
        for issuer in self.settings.oidc:
            try:
                claims = self._claims(issuer, token)
            except (JoseError, ServiceError, ValueError, TypeError, KeyError) as error:
                if isinstance(error, ServiceError):
                    logs.log().warning("issuer", issuer=issuer.issuer, problem=error.message)
                continue
            number = claims.get(issuer.claim)
            repos = frozenset(r.name for r in self.settings.repositories if r.repository_id and r.repository_id == str(number) and number)
            if not repos:
                return None
            who = f"ci {issuer.issuer} {claims.get('sub', '')}"
            return Principal(who=who[:200], by="oidc", scopes=frozenset(issuer.scopes), repos=repos)
        return None

    def _claims(self, issuer: Oidc, token: str) -> dict[str, object]:
        keys = self._keys(issuer, afresh=False)
        try:
            decoded = jwt.decode(token, keys, algorithms=list(issuer.algorithms))
        except (JoseError, ValueError):
            # An unknown key may be a new one; but nobody may make us ask without end.
            renewed = self._keys(issuer, afresh=True)
            if renewed is keys:
                raise
            decoded = jwt.decode(token, renewed, algorithms=list(issuer.algorithms))
        claims: dict[str, object] = decoded.claims
        must = {name: {"essential": True, "value": value} for name, value in {"iss": issuer.issuer, **issuer.require}.items()}
        registry = jwt.JWTClaimsRegistry(
            now=int(self.clock()),
            leeway=_LEEWAY_S,
            aud={"essential": True, "value": issuer.audience},
            exp={"essential": True},
            iat={"essential": True},
            **must,  # type: ignore[arg-type]
        )
        registry.validate(claims)
        lives = int(str(claims["exp"])) - int(str(claims["iat"]))
        if lives > _LIFE_S:
            raise ValueError("a token of such a long life is no CI token")
        return claims

    def _keys(self, issuer: Oidc, *, afresh: bool) -> KeySet:
        now = self.clock()
        with self._lock:
            known = self._known.get(issuer.issuer)
            if known is not None and now - known.at < (_AGAIN_S if afresh else _FRESH_S):
                return known.keys
            loaded = self.load(issuer)
            made = KeySet.import_key_set(loaded)  # type: ignore[arg-type]
            self._known[issuer.issuer] = _Known(keys=made, at=now)
            return made
