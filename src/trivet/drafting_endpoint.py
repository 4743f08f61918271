"""One call of an OpenAI-compatible endpoint, with the standard library alone. No redirect is followed, no environment is read."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from trivet.errors import EndpointError, UsageError

ANSWER_B = 5_000_000
"""A longer answer is not read."""
_HERE = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where to ask. ``url`` ends before ``/chat/completions``; ``key`` "" sends none; ``proxies``: scheme to proxy URL."""

    url: str
    key: str = field(default="", repr=False)
    timeout_s: float = 120.0
    proxies: Mapping[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """The whole URL of the call."""
        return self.url.rstrip("/") + "/chat/completions"


def check(endpoint: Endpoint) -> None:
    """Refuse what would send the key or the text in the clear.

    Raises:
        UsageError: the URL is none of HTTP, or a plain one to another host.
    """
    parts = urlsplit(endpoint.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"the endpoint is no http or https URL: {endpoint.url!r}", hint="for example --url https://llm.example.org/v1")
    if parts.username or parts.password:
        raise UsageError("the endpoint's URL holds a name or password", hint="put the key into the environment variable of --key-env")
    if parts.scheme == "http" and parts.hostname not in _HERE:
        raise UsageError(f"the endpoint {parts.hostname} is not asked in the clear", hint="use https; plain http only goes to this host")


class _Stay(urllib.request.HTTPRedirectHandler):
    """A redirect would hand key and text to somebody whom the caller did not name."""

    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        return None


def ask(endpoint: Endpoint, body: bytes) -> str:
    """Send a body, and give the text of the first choice.

    Raises:
        UsageError: the URL may not be used.
        EndpointError: it did not answer, or not as documented.
    """
    check(endpoint)
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "trivet"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    here = urlsplit(endpoint.url).hostname in _HERE
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({} if here else dict(endpoint.proxies)), _Stay())
    request = urllib.request.Request(endpoint.target, data=body, headers=headers, method="POST")  # noqa: S310 - checked above
    try:
        with opener.open(request, timeout=endpoint.timeout_s) as answer:
            data = answer.read(ANSWER_B + 1)
    except urllib.error.HTTPError as error:
        with error:
            told = error.read(2000).decode("utf-8", "replace")
        hint = "check the key" if error.code in (401, 403) else "try again later" if error.code == 429 or error.code >= 500 else ""  # noqa: PLR2004
        raise EndpointError(f"the endpoint answered {error.code}: {told[:300].strip()}", where=endpoint.target, hint=hint) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise EndpointError(f"the endpoint cannot be asked: {reason}", where=endpoint.target, hint="check --url and the network") from error
    if len(data) > ANSWER_B:
        raise EndpointError(f"the endpoint's answer is longer than {ANSWER_B} bytes", where=endpoint.target)
    return _content(data, endpoint.target)


def _content(data: bytes, where: str) -> str:
    try:
        content = json.loads(data)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
        raise EndpointError("the endpoint's answer has no choices[0].message.content", where=where) from error
    if not isinstance(content, str):
        raise EndpointError("the endpoint's answer holds no text", where=where)
    return content
