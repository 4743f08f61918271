"""One HTTP connection to a forge: retries with back-off, rate limits, bounded answers, and a token that no message can show.

The address is the caller's. Redirects are not followed and pages of other hosts are not asked for, so the token goes nowhere else.
"""

from __future__ import annotations

import email.utils
import json
import random
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from trivet import __version__
from trivet.errors import ForgeError, UsageError

if TYPE_CHECKING:
    import httpx

ANSWER_LIMIT_B = 20_000_000
PAGES_LIMIT = 50
"""Pages of a hundred; who has more is told so instead of being judged by a part."""
_KEPT, _KEPT_B = 256, 200_000
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_BUSY = frozenset({429, 500, 502, 503, 504})
_SOMETIMES = frozenset({403, 409, 422})
"""Answers that mean "not yet" (a commit that is not known everywhere, a burst limit) as well as "no": tried a few times, then believed."""
SOMETIMES_TRIES = 3


class UnsureError(ForgeError):
    """A write was sent and its answer lost: it may have happened. Look before writing again."""


class RefusedError(ForgeError):
    """The forge said no, and goes on saying it. ``status`` is the HTTP status."""

    def __init__(self, message: str, *, status: int, where: str = "", hint: str = "") -> None:
        super().__init__(message, where=where, hint=hint)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait: all retries of one call together take at most ``total_s``; ``first_s`` doubles each time."""

    total_s: float = 120.0
    first_s: float = 0.5
    longest_s: float = 60.0
    timeout_s: float = 20.0


@dataclass(slots=True)
class Answer:
    """One good answer: decoded JSON (None where there is none), and the address of the next page ("" = last)."""

    data: Any
    next: str = ""
    status: int = 200


@dataclass(slots=True)
class Count:
    """How many requests went out, by method; what a rate limit counts."""

    calls: int = 0
    writes: int = 0
    log: list[str] = field(default_factory=list)


def checked_url(url: str) -> str:
    """An API address that may carry a token: https, or http on this machine.

    Raises:
        UsageError: anything else.
    """
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError("an API address holds no user, password, query or fragment", where=parts.hostname or "")
    if not parts.hostname or parts.scheme not in ("http", "https"):
        raise UsageError(f"not an API address: {url!r}", hint="it comes from --api or from the CI's own variable, such as GITHUB_API_URL")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise UsageError("an API address without TLS would show the token to the network", where=url, hint="use https")
    return url.rstrip("/")


class Wire:
    """Calls to one API. Safe to use from several threads.

    Args:
        url: the address of the API, without a slash at its end.
        headers: what goes with each request; ``token`` gives the headers that carry the secret, asked for before each request, so that
            a token that expires can be renewed.
        patience: see `Patience`.
        transport: an httpx transport, for tests.
        sleep: waits so many seconds.
        jitter: a number from 0 to 1 that spreads retries.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        token: Callable[[], Mapping[str, str]],
        patience: Patience | None = None,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        httpx = library()
        self.url = checked_url(url)
        self._headers = {"user-agent": f"trivet/{__version__}", **headers}
        self._token, self._sleep, self._jitter = token, sleep, jitter
        self._patience = patience or Patience()
        self._client = httpx.Client(timeout=self._patience.timeout_s, transport=transport, follow_redirects=False, trust_env=True)
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[str, Answer]] = OrderedDict()
        self.count = Count()

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, path: str, **query: object) -> Any:
        """Read one thing. Raises: ForgeError."""
        return self._call("GET", self._full(path, query), None).data

    def pages(self, path: str, **query: object) -> Iterator[Any]:
        """Read a list page by page, a hundred rows each.

        Raises:
            ForgeError: an answer is no list, or there are too many pages.
        """
        url = self._full(path, {"per_page": 100, **query})
        for _ in range(PAGES_LIMIT):
            answer = self._call("GET", url, None)
            yield answer.data
            if not answer.next:
                return
            url = self._same_place(answer.next)
        raise ForgeError(f"more than {PAGES_LIMIT * 100} rows", where=path, hint="a part of them decides nothing; report this")

    def rows(self, path: str, key: str = "", **query: object) -> list[dict[str, Any]]:
        """All rows of a list, or of the list under ``key``. Raises: ForgeError."""
        found: list[dict[str, Any]] = []
        for page in self.pages(path, **query):
            part = page.get(key) if key and isinstance(page, dict) else page
            if not isinstance(part, list) or not all(isinstance(row, dict) for row in part):
                raise ForgeError("the answer is no list of objects", where=path)
            found += part
        return found

    def send(self, method: str, path: str, body: Mapping[str, object]) -> Any:
        """Write something.

        Raises:
            UnsureError: the answer was lost (for POST, which must not be repeated blindly).
            ForgeError: anything else.
        """
        return self._call(method, self._full(path, {}), dict(body)).data

    def _full(self, path: str, query: Mapping[str, object]) -> str:
        asked = "&".join(f"{key}={value}" for key, value in query.items())
        return f"{self.url}{path}" + (f"?{asked}" if asked else "")

    def _same_place(self, url: str) -> str:
        mine, other = urlsplit(self.url), urlsplit(url)
        if (mine.scheme, mine.netloc) != (other.scheme, other.netloc):
            raise ForgeError("the next page is at another address; the token is not sent there", where=f"{other.scheme}://{other.netloc}")
        return url

    def _call(self, method: str, url: str, body: dict[str, object] | None) -> Answer:
        waited, tries, wait = 0.0, 0, self._patience.first_s
        while True:
            tries += 1
            response, problem = self._once(method, url, body)
            if response is not None and (answer := self._good(method, url, response)) is not None:
                return answer
            status = 0 if response is None else response.status_code
            if response is not None and not _worth_another_try(status, tries, response):
                raise _refusal(status, response, self._shown(url))
            if method == "POST" and (status == 0 or status >= 500):  # noqa: PLR2004 - server errors
                raise UnsureError(f"the answer to a write was lost: {problem or status}", where=self._shown(url))
            asked = None if response is None else asked_wait(response.status_code, response.headers)
            pause = asked if asked is not None else min(wait, self._patience.longest_s) * (0.5 + self._jitter() / 2)
            wait *= 2
            if waited + pause > self._patience.total_s:
                what = problem or f"status {status}"
                hint = f"it asks to wait {pause:.0f} s; run it again later" if asked else "run it again; what was published stays pending"
                raise ForgeError(f"the forge did not answer ({what}) in {tries} tries", where=self._shown(url), hint=hint)
            waited += pause
            self._sleep(pause)

    def _once(self, method: str, url: str, body: dict[str, object] | None) -> tuple[httpx.Response | None, str]:
        httpx = library()
        headers = {**self._headers, **self._token()}
        with self._lock:
            if method == "GET" and url in self._kept:
                headers["if-none-match"] = self._kept[url][0]
            self.count.calls += 1
            self.count.writes += method != "GET"
            self.count.log = [*self.count.log[-200:], f"{method} {self._shown(url)}"]
        try:
            with self._client.stream(method, url, headers=headers, json=body) as response:
                content = b""
                for part in response.iter_bytes():
                    content += part
                    if len(content) > ANSWER_LIMIT_B:
                        raise ForgeError(f"an answer of more than {ANSWER_LIMIT_B} bytes", where=self._shown(url))
                made = httpx.Response(response.status_code, headers=_plain_headers(response.headers), content=content)
        except (httpx.TransportError, httpx.StreamError) as error:
            return None, type(error).__name__
        except httpx.HTTPError as error:
            raise ForgeError(f"the call could not be made: {type(error).__name__}", where=self._shown(url)) from None
        return made, ""

    def _good(self, method: str, url: str, response: httpx.Response) -> Answer | None:
        if response.status_code == 304:  # noqa: PLR2004 - not modified
            with self._lock:
                if url in self._kept:
                    self._kept.move_to_end(url)
                    return self._kept[url][1]
            raise ForgeError("the forge says that nothing changed, and nothing is kept", where=self._shown(url))
        if not 200 <= response.status_code < 300:  # noqa: PLR2004 - success
            return None
        try:
            data = json.loads(response.content) if response.content.strip() else None
        except (ValueError, RecursionError):
            raise ForgeError("the answer is no JSON", where=self._shown(url), hint="is the address that of the API?") from None
        answer = Answer(data=data, next=_next_page(response.headers.get("link", "")), status=response.status_code)
        tag = response.headers.get("etag")
        if method == "GET" and tag and len(response.content) <= _KEPT_B:
            with self._lock:
                self._kept[url] = (tag, answer)
                self._kept.move_to_end(url)
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return answer

    def _shown(self, url: str) -> str:
        """The path alone: an address can hold what nobody should read in a log."""
        return urlsplit(url).path


def library() -> Any:
    """The HTTP library, or one clear error that names the extra.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import httpx  # noqa: PLC0415 - only who talks to a forge pays for it
    except ImportError:
        raise UsageError("talking to a forge needs the extra `forge`", hint="pip install 'trivet[forge]'") from None
    return httpx


def asked_wait(status: int, headers: Mapping[str, str]) -> float | None:
    """The seconds that an answer asks to wait, None where it asks for nothing.

    The forge's own clock (its Date header) is the measure for its reset time: nobody else's has to be right.
    """
    after = headers.get("retry-after", "")
    if after.isdigit():
        return float(after)
    prefix = "x-" if "x-ratelimit-reset" in headers else ""
    reset = headers.get(f"{prefix}ratelimit-reset", "")
    if status in (403, 429) and headers.get(f"{prefix}ratelimit-remaining") == "0" and reset.isdigit():
        parsed = email.utils.parsedate_tz(headers.get("date", ""))
        if parsed is not None:
            return max(1.0, float(reset) - email.utils.mktime_tz(parsed))
        return 60.0
    return None


def _worth_another_try(status: int, tries: int, response: httpx.Response) -> bool:
    if status in _BUSY or asked_wait(status, response.headers) is not None:
        return True
    return status in _SOMETIMES and tries < SOMETIMES_TRIES


def _refusal(status: int, response: httpx.Response, where: str) -> ForgeError:
    hints = {
        301: "the repository has moved; give its new name",
        307: "the repository has moved; give its new name",
        401: "the token is not valid here, or has expired",
        403: "the token lacks a permission for this; docs/github.md and docs/gitlab.md list them",
        404: "there is no such thing, or the token may not see it",
        422: "the forge refuses the content; report this if it stays",
    }
    try:
        data = json.loads(response.content)
        told = str(data.get("message") or data.get("error") or "") if isinstance(data, dict) else ""
    except ValueError:
        told = ""
    message = f"the forge answered {status}" + (f": {told[:300]}" if told else "")
    return RefusedError(message, status=status, where=where, hint=hints.get(status, ""))


def _plain_headers(headers: httpx.Headers) -> list[tuple[str, str]]:
    return [(key, value) for key, value in headers.items() if key not in ("content-encoding", "transfer-encoding", "content-length")]


def _next_page(link: str) -> str:
    found = re.search(r'<([^<>]+)>;\s*rel="next"', link)
    return found[1] if found else ""
