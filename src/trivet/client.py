r"""A client of the scoring service, with the standard library alone: ask for a score, wait for it, read what was decided.

    with Client("https://scores.example", token=token) as client:
        score = client.submit("shop", base=base, head=head)
        score = client.wait(score.id, timeout_s=900)
        print(score.word, *score.reasons, sep="\n")

Asking twice for the same (repository, base, head) gives the same score, so a call that broke off is simply made again; the client does so
by itself for answers that say "later". A client has no say in a verdict: it sends ids and reads.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self
from urllib.parse import quote, unquote, urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

from trivet import __version__
from trivet.errors import ClientError
from trivet.model import LEGS

Plain = Mapping[str, object]
Word = Literal["MERGE_OK", "MERGE_BLOCKED", "NOT_DECIDED"]
BODY_LIMIT_B = 64 * 1024 * 1024
_LATER = (429, 502, 503, 504)
_TRIES = 5
_LONGEST_PAUSE_S = 30.0
_LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A score, as far as it is. ``merge`` is None until a decision stands; ``over``: nothing more will happen to it."""

    id: str
    repo: str
    base: str
    head: str
    state: str
    over: bool
    merge: bool | None
    verdicts: Mapping[str, str | None] = field(default_factory=dict)
    feedback: str = ""
    problem: str = ""
    page: str = ""
    """Where people can read it."""
    decision: Plain | None = None
    answer: Plain = field(default_factory=dict, repr=False, compare=False)
    """All that the service said."""

    @property
    def word(self) -> Word:
        """``MERGE_OK`` only where a decision says so and all three verdicts are PASS."""
        if self.merge is None:
            return "NOT_DECIDED"
        return "MERGE_OK" if self.merge is True and [self.verdicts.get(leg) for leg in LEGS] == ["PASS"] * len(LEGS) else "MERGE_BLOCKED"

    @property
    def reasons(self) -> tuple[str, ...]:
        """What blocked, as lines ``RULE where: message — next``; as much of it as the level of feedback tells."""
        return tuple(_reasons(self.decision or {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to a score. ``kind`` is a state, ``progress`` or ``end``."""

    id: int
    kind: str
    text: str


class Client:
    """A connection to one service. Not for several threads at once: each makes its own.

    Args:
        url: where the service is, ``https://HOST`` or ``http://HOST:PORT``.
        token: an access token with the scopes ``submit`` and ``read``; empty for what is public.
        timeout_s: seconds for one answer.
        insecure_http: allow a token over plain HTTP to a host that is not this one.

    Raises:
        ClientError: the URL is none, or a token would go over plain HTTP to another host.
    """

    def __init__(self, url: str, *, token: str = "", timeout_s: float = 30.0, insecure_http: bool = False) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
            raise ClientError(f"not the address of a service: {url!r}", hint="for example https://scores.example")
        if token and parts.scheme == "http" and parts.hostname not in _LOCAL and not insecure_http:
            raise ClientError("the token would be sent over plain HTTP", where=url, hint="use https")
        if any(not 0x20 < ord(char) < 0x7F for char in token):  # noqa: PLR2004 - printable ASCII
            raise ClientError("the token has a character that no token has", hint="it may have been copied with a line break")
        self._url, self._token, self._timeout_s = parts, token, timeout_s
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next call opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def submit(self, repo: str, *, base: str, head: str, ref: str = "") -> Score:
        """Ask for a score of a head on a base; newer heads of the same ``ref`` supersede it.

        Raises:
            ClientError: the service refused, or does not answer.
        """
        body = {"repo": repo, "base": base, "head": head, **({"ref": ref} if ref else {})}
        return self._score(self._call("POST", "/v1/scores", body))

    def score(self, identity: str) -> Score:
        """Read a score.

        Raises:
            ClientError: there is none that this token may see, or the service does not answer.
        """
        return self._score(self._call("GET", f"/v1/scores/{quote(identity, safe='')}"))

    def wait(self, identity: str, *, timeout_s: float = 3600.0, on_change: Callable[[Score], None] | None = None) -> Score:
        """Wait until a score is over.

        Args:
            identity: the id of the score.
            timeout_s: seconds to wait at most.
            on_change: called with the score whenever its state is another one.

        Raises:
            ClientError: it took longer, the service refused, or does not answer.
        """
        until, pause, before = time.monotonic() + timeout_s, 0.2, ""
        while True:
            score = self.score(identity)
            if score.state != before and on_change is not None:
                on_change(score)
            before = score.state
            if score.over:
                return score
            left = until - time.monotonic()
            if left <= 0:
                raise ClientError(f"score {identity} is still {score.state} after {timeout_s:g} s", hint="wait again: the score goes on")
            time.sleep(min(pause, left))
            pause = min(2.0, pause * 1.3)

    def events(self, identity: str, *, after: int = 0) -> Iterator[Event]:
        """Follow a score: each event as it happens, until the score is over.

        Raises:
            ClientError: the service refused, or broke off; go on with ``after`` the id of the last event.
        """
        connection = self._connect()
        try:
            headers = {**self._headers(), "Accept": "text/event-stream", **({"Last-Event-ID": str(after)} if after else {})}
            connection.request("GET", f"{self._url.path.rstrip('/')}/v1/scores/{quote(identity, safe='')}/events", headers=headers)
            response = connection.getresponse()
            if response.status != http.client.OK:
                raise _refusal(response.status, response.read(BODY_LIMIT_B))
            yield from _events(response)
        except (OSError, http.client.HTTPException) as error:
            raise ClientError(f"the stream of events broke off: {str(error) or type(error).__name__}", where=self._url.netloc) from error
        finally:
            connection.close()

    def decision(self, identity: str) -> Plain:
        """``decision.json`` of a score, as far as the level of feedback tells it.

        Raises:
            ClientError: no decision stands, or the service refused.
        """
        return self._object(self.content(identity, "decision.json"))

    def content(self, identity: str, name: str) -> bytes:
        """A file of a score, such as ``decision.json`` or ``dsse``: its bytes as they were written and signed.

        Raises:
            ClientError: there is none, or the service refused.
        """
        return self._bytes("GET", f"/v1/scores/{quote(identity, safe='')}/{name}")

    def cancel(self, identity: str) -> Score:
        """Cancel a score that is not over; one that is stays as it is.

        Raises:
            ClientError: the service refused.
        """
        return self._score(self._call("DELETE", f"/v1/scores/{quote(identity, safe='')}"))

    def scores(self, repo: str = "", *, limit: int = 50) -> tuple[Score, ...]:
        """The newest scores that this token may read, newest first; at most 500.

        Raises:
            ClientError: the service refused.
        """
        rows = self._call("GET", "/v1/scores?" + urlencode({"limit": limit, **({"repo": repo} if repo else {})})).get("scores")
        return tuple(self._score(row) for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()

    def leases(self, repo: str) -> tuple[Plain, ...]:
        """The leases of a repository, soonest to expire first.

        Raises:
            ClientError: the service refused.
        """
        rows = self._call("GET", f"/v1/repos/{quote(repo, safe='')}/leases").get("leases")
        return tuple(row for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()

    def history(self, repo: str, *, days: int = 30) -> Plain:
        """Decisions and block reasons a day, and the newest scores, as the API gives them.

        Raises:
            ClientError: the service refused.
        """
        return self._call("GET", f"/v1/repos/{quote(repo, safe='')}/history?" + urlencode({"days": days}))

    def _headers(self) -> dict[str, str]:
        known = {"Accept": "application/json", "User-Agent": f"trivet/{__version__}"}
        return {**known, "Authorization": f"Bearer {self._token}"} if self._token else known

    def _connect(self) -> http.client.HTTPConnection:
        host = str(self._url.hostname)
        if self._url.scheme == "https":
            proxy = urlsplit(_proxy(host))
            at = (proxy.hostname, proxy.port or 80) if proxy.hostname else (host, self._url.port)
            connection = http.client.HTTPSConnection(*at, timeout=self._timeout_s, context=ssl.create_default_context())
            if proxy.hostname:
                connection.set_tunnel(host, self._url.port or 443, _proxy_headers(proxy.username, proxy.password))
            return connection
        return http.client.HTTPConnection(host, self._url.port, timeout=self._timeout_s)

    def _call(self, method: str, path: str, body: Plain | None = None) -> Plain:
        return self._object(self._bytes(method, path, body))

    def _bytes(self, method: str, path: str, body: Plain | None = None) -> bytes:
        """The body of one answer. All calls may be repeated: what is asked twice is done once."""
        sent = None if body is None else json.dumps(body).encode()
        headers = {**self._headers(), **({"Content-Type": "application/json"} if sent else {})}
        for left in range(_TRIES - 1, -1, -1):
            pause = min(_LONGEST_PAUSE_S, 0.25 * 2 ** (_TRIES - 1 - left))
            try:
                if self._connection is None:
                    self._connection = self._connect()
                self._connection.request(method, self._url.path.rstrip("/") + path, body=sent, headers=headers)
                response = self._connection.getresponse()
                content = response.read(BODY_LIMIT_B + 1)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if left:
                    time.sleep(pause)
                    continue
                raise ClientError(f"the service does not answer: {str(error) or type(error).__name__}", where=self._url.netloc) from error
            if response.status in _LATER and left:
                asked = response.headers.get("Retry-After", "")
                time.sleep(min(_LONGEST_PAUSE_S, float(asked)) if asked.isdecimal() else pause)
                continue
            if len(content) > BODY_LIMIT_B:
                self.close()
                raise ClientError(f"the answer is larger than {BODY_LIMIT_B} bytes", where=self._url.netloc)
            if not 200 <= response.status < 300:  # noqa: PLR2004 - HTTP; redirects are not followed: a token goes to one host
                raise _refusal(response.status, content)
            return content
        raise AssertionError("the last try returns or raises")  # pragma: no cover

    def _object(self, content: bytes) -> Plain:
        try:
            data = json.loads(content)
        except ValueError as error:
            raise ClientError("the answer is not JSON: is this a trivet service?", where=self._url.netloc) from error
        if not isinstance(data, dict):
            raise ClientError("the answer is no object", where=self._url.netloc)
        return data

    def _score(self, data: Plain) -> Score:
        links, verdicts, decision, merge = data.get("links"), data.get("verdicts"), data.get("decision"), data.get("merge")
        page = str(links.get("page") or "") if isinstance(links, dict) else ""
        words = {str(leg): None if word is None else str(word) for leg, word in verdicts.items()} if isinstance(verdicts, dict) else {}
        return Score(
            **{key: str(data.get(key) or "") for key in ("id", "repo", "base", "head", "state", "feedback", "problem")},
            over=data.get("over") is True,
            merge=merge if isinstance(merge, bool) else None,
            verdicts=words,
            page=f"{self._url.scheme}://{self._url.netloc}{self._url.path.rstrip('/')}{page}" if page.startswith("/") else page,
            decision=decision if isinstance(decision, dict) else None,
            answer=data,
        )


def _proxy(host: str) -> str:
    """The proxy that the caller's environment names for a host, as a URL; "" for this machine and for hosts that are exempt."""
    proxy = "" if host in _LOCAL or proxy_bypass(host) else getproxies().get("https", "")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _proxy_headers(user: str | None, password: str | None) -> dict[str, str]:
    if not user:
        return {}
    word = base64.b64encode(f"{unquote(user)}:{unquote(password or '')}".encode()).decode()
    return {"Proxy-Authorization": f"Basic {word}"}


def _refusal(status: int, content: bytes) -> ClientError:
    told = ""
    try:
        data = json.loads(content)
        told = str(data.get("message") or "") if isinstance(data, dict) else ""
    except ValueError:
        pass
    hints = {
        401: "the token is unknown, expired or revoked",
        403: "ask for a token with that scope",
        404: "what a token may not see does not exist for it",
    }
    return ClientError(f"the service refused ({status}){': ' + told[:500] if told else ''}", hint=hints.get(status, ""), status=status)


def _events(lines: Iterator[bytes] | http.client.HTTPResponse) -> Iterator[Event]:
    number, kind, data = 0, "message", ""
    for raw in lines:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "id":
                number = int(value) if value.isdecimal() else number
            case "event":
                kind = value
            case "data":
                data += value
            case _:
                pass  # a comment that keeps the line open, or a field of a later version
        if not line and data:
            yield Event(id=number, kind=kind, text=_text_of(data))
            if kind == "end":
                return
        if not line:
            kind, data = "message", ""


def _text_of(data: str) -> str:
    try:
        told = json.loads(data)
    except ValueError:
        return ""
    return str(told.get("text") or told.get("state") or "") if isinstance(told, dict) else ""


def _reasons(decision: Plain) -> Iterator[str]:
    verdicts = decision.get("verdicts")
    for leg in verdicts.values() if isinstance(verdicts, dict) else ():
        rows = leg.get("findings") if isinstance(leg, dict) else None
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and row.get("level", "error") == "error":
                where = f" {row['path']}{':' + str(row['line']) if row.get('line') else ''}" if row.get("path") else ""
                then = f"\n  next: {row['next']}" if row.get("next") else ""
                yield f"{row.get('rule', '')}{where}: {row.get('test') or row.get('message', '')}{then}"
        rules = leg.get("rules") if isinstance(leg, dict) else None
        for rule, number in rules.items() if isinstance(rules, dict) else ():
            yield f"{rule}: {number} findings"
