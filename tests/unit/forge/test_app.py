"""Tokens of an App: asked for with a signed statement, kept, renewed in time, narrowed, and in no message."""

from __future__ import annotations

import json

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from fakes.github import ANSWERS, BODIES
from trivet.errors import ForgeError
from trivet.forge.app import AppTokens

CALL = "POST /app/installations/{installation_id}/access_tokens"


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem(key: rsa.RSAPrivateKey) -> str:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()


class Forge:
    def __init__(self, key: rsa.RSAPrivateKey) -> None:
        self.key, self.given, self.bodies, self.status, self.answer = key.public_key(), 0, [], 201, {}

    def handler(self, request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/api/v3/app/installations/3/access_tokens"
        claims = jwt.decode(request.headers["authorization"].removeprefix("Bearer "), self.key, algorithms=["RS256"], options={"verify_iat": False})
        assert claims["iss"] == "7"
        assert claims["exp"] - claims["iat"] <= 600
        body = json.loads(request.content)
        BODIES[CALL].validate(body)
        self.bodies.append(body)
        if self.status != 201:
            return httpx.Response(self.status, json={"message": "no"})
        self.given += 1
        data = {"token": f"ghs_{self.given}", "expires_at": "2026-09-22T13:00:00Z", **self.answer}
        if not self.answer:
            ANSWERS[CALL, 201].validate(data)
        return httpx.Response(201, json=data)


def tokens(forge: Forge, text: str, now: list[float]) -> AppTokens:
    return AppTokens(
        "https://git.example.org/api/v3", app="7", installation=3, key=text, repositories=("rates",), clock=lambda: now[0],
        transport=httpx.MockTransport(forge.handler), sleep=lambda _seconds: None,
    )  # fmt: skip


def test_a_token_is_kept_and_renewed_before_it_ends(key: rsa.RSAPrivateKey) -> None:
    forge, now = Forge(key), [0.0]
    made = tokens(forge, pem(key), now)
    assert [made(), made()] == ["ghs_1", "ghs_1"]
    now[0] = 3299.0
    assert made() == "ghs_1"
    now[0] = 3301.0
    assert made() == "ghs_2"
    assert forge.bodies[0] == {"permissions": {"checks": "write", "pull_requests": "write", "contents": "read"}, "repositories": ["rates"]}


@pytest.mark.parametrize("answer", [{"token": ""}, {"token": None}, {"expires_at": "soon"}])
def test_an_answer_without_a_token_is_told(key: rsa.RSAPrivateKey, answer: dict[str, object]) -> None:
    forge = Forge(key)
    forge.answer = answer
    with pytest.raises(ForgeError, match="token"):
        tokens(forge, pem(key), [0.0])()


def test_a_refusal_is_told_without_the_key(key: rsa.RSAPrivateKey) -> None:
    forge = Forge(key)
    forge.status = 401
    with pytest.raises(ForgeError, match="401") as caught:
        tokens(forge, pem(key), [0.0])()
    assert "PRIVATE" not in f"{caught.value}{caught.value.where}{caught.value.hint}"


@pytest.mark.parametrize("text", ["", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_a_key_that_is_none_is_told(key: rsa.RSAPrivateKey, text: str) -> None:
    with pytest.raises(ForgeError, match="private key cannot be used"):
        tokens(Forge(key), text, [0.0])()


def test_many_threads_share_one_token(key: rsa.RSAPrivateKey) -> None:
    from concurrent.futures import ThreadPoolExecutor

    forge = Forge(key)
    made = tokens(forge, pem(key), [0.0])
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: made(), range(40))) == {"ghs_1"}
    assert forge.given == 1
