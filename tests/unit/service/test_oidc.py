"""CI tokens: each way in which one may be forged, stale or for somebody else is nobody."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from pathlib import Path

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from trivet.errors import ServiceError
from trivet.service.oidc import CiTokens
from trivet.service.settings import settings_of

NOW = 1_790_000_000
KEY, OTHER = RSAKey.generate_key(2048, {"kid": "one"}), RSAKey.generate_key(2048, {"kid": "one"})
CLAIMS = {"iss": "https://ci.example", "aud": "trivet", "sub": "repo:o/r", "iat": NOW, "exp": NOW + 300, "nbf": NOW, "repository_id": "77", "event_name": "push"}


def tokens(**issuer) -> CiTokens:
    table = {"issuer": "https://ci.example", "audience": "trivet", "keys_file": "keys", **issuer}
    repos = [{"name": "alpha", "url": "https://x/a", "repository_id": "77"}, {"name": "beta", "url": "https://x/b", "repository_id": "78"}, {"name": "gamma", "url": "https://x/c"}]
    loads: list[int] = []

    def load(_: object) -> dict:
        loads.append(1)
        return KeySet([RSAKey.import_key(KEY.as_dict(private=False))]).as_dict()

    made = CiTokens(settings=settings_of({"schema": 1, "oidc": [table], "repositories": repos}, Path()), clock=lambda: float(NOW + 10), load=load)
    made.loads = loads  # type: ignore[attr-defined]
    return made


def signed(key=KEY, header: dict | None = None, without: str = "", **claims) -> str:
    content = {name: value for name, value in (CLAIMS | claims).items() if name != without}
    return jwt.encode({"alg": "RS256", "kid": "one", **(header or {})}, content, key)


def hmac_signed() -> str:
    """HS256 with the public key as its secret, which a reader that takes the algorithm from the token would believe."""
    head, body = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in ({"alg": "HS256", "kid": "one"}, CLAIMS))
    mac = hmac.new(KEY.as_pem(private=False), f"{head}.{body}".encode(), hashlib.sha256).digest()
    return f"{head}.{body}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def test_a_good_token_speaks_for_the_repository_with_its_number_and_no_other() -> None:
    found = tokens().read(signed())
    assert found is not None
    assert (found.by, found.repos, found.scopes) == ("oidc", frozenset({"alpha"}), frozenset({"submit", "read"}))


@pytest.mark.parametrize(
    "token",
    [
        lambda: signed(OTHER),
        lambda: signed(aud="somebody else"),
        lambda: signed(aud=["x", "y"]),
        lambda: signed(iss="https://evil.example"),
        lambda: signed(exp=NOW - 3600, iat=NOW - 3700),
        lambda: signed(nbf=NOW + 3600),
        lambda: signed(iat=NOW + 3600, exp=NOW + 3700),
        lambda: signed(exp=NOW + 400_000),
        lambda: signed(repository_id="79"),
        lambda: signed(repository_id=""),
        lambda: signed(without="repository_id"),
        lambda: signed(without="exp"),
        lambda: signed(without="iat"),
        lambda: signed(without="aud"),
        lambda: signed(without="iss"),
        hmac_signed,
        lambda: signed().rsplit(".", 1)[0] + ".",
        lambda: "eyJhbGciOiJub25lIn0." + signed().split(".")[1] + ".",
        lambda: "x.y.z",
        lambda: "no token",
        lambda: "a" * 20_000,
    ],
)
def test_a_forged_stale_or_foreign_token_is_nobody(token) -> None:
    assert tokens().read(token()) is None


def test_claims_that_the_settings_require_must_be_there_and_equal() -> None:
    assert tokens(require={"event_name": "push"}).read(signed()) is not None
    assert tokens(require={"event_name": "merge_group"}).read(signed()) is None
    assert tokens(require={"ref": "refs/heads/main"}).read(signed()) is None


def test_nobody_makes_the_service_ask_for_keys_without_end() -> None:
    reader = tokens()
    for _ in range(5):
        reader.read(signed(OTHER))
    assert len(reader.loads) == 1


def test_an_issuer_that_does_not_answer_is_nobodys_word() -> None:
    reader = tokens()

    def broken(_: object) -> dict:
        raise ServiceError("no answer")

    reader.load = broken
    assert reader.read(signed()) is None
