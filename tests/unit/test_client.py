"""The client against a connection that answers from a list, and what an agent is told."""

from __future__ import annotations

import io
import json

import pytest

from trivet import client as room
from trivet.agent_tools import Tools, told
from trivet.client import Client, Score
from trivet.errors import ClientError, UsageError

OPEN = {"id": "s1", "repo": "shop", "base": "b" * 40, "head": "c" * 40, "state": "scoring", "over": False, "merge": None, "verdicts": {}, "links": {"page": "/scores/s1"}}
FINDING = {"rule": "TRV201", "level": "error", "message": "test_x: boom", "path": "tests/sealed/test_a.py", "line": 5, "next": "Mend it."}
BLOCKED = {
    **OPEN, "state": "done", "over": True, "merge": False, "feedback": "full",
    "verdicts": {"src-score": "FAIL", "oracle-integrity": "PASS", "flake-lease": "PASS"},
    "decision": {"verdicts": {"src-score": {"status": "FAIL", "findings": [FINDING, {**FINDING, "level": "note"}]}, "oracle-integrity": {"status": "PASS", "rules": {"TRV101": 2}}}},
}  # fmt: skip


class Answer(io.BytesIO):
    def __init__(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        super().__init__(body if isinstance(body, bytes) else json.dumps(body).encode())
        self.status, self.headers = status, headers or {}


class Wire:
    """Stands for http.client's connection: gives the answers in order and keeps what was asked."""

    def __init__(self, *answers: object) -> None:
        self.answers, self.asked = list(answers), []

    def request(self, method, path, body=None, headers=None) -> None:
        self.asked.append((method, path, body, headers))
        if isinstance(self.answers[0], Exception):
            raise self.answers.pop(0)

    def getresponse(self):
        return self.answers.pop(0)

    def close(self) -> None:
        pass


@pytest.fixture
def wired(monkeypatch):
    monkeypatch.setattr(room.time, "sleep", lambda _: None)

    def make(*answers, url="https://scores.example/trivet", **options):
        wire = Wire(*answers)
        monkeypatch.setattr(Client, "_connect", lambda _: wire)
        return Client(url, token="trv_secret", **options), wire

    return make


def test_a_score_is_asked_for_below_the_path_of_the_service_with_the_token(wired) -> None:
    client, wire = wired(Answer(202, OPEN))
    score = client.submit("shop", base="b" * 40, head="c" * 40)
    ((method, path, body, headers),) = wire.asked
    assert (method, path, json.loads(body)) == ("POST", "/trivet/v1/scores", {"repo": "shop", "base": "b" * 40, "head": "c" * 40})
    assert headers["Authorization"] == "Bearer trv_secret"
    assert (score.word, score.over, score.page) == ("NOT_DECIDED", False, "https://scores.example/trivet/scores/s1")


def test_waiting_ends_with_the_decision_and_tells_each_change_once(wired) -> None:
    client, _ = wired(Answer(200, OPEN), Answer(200, OPEN), Answer(200, BLOCKED))
    seen = []
    score = client.wait("s1", timeout_s=60, on_change=lambda score: seen.append(score.state))
    assert (score.word, seen) == ("MERGE_BLOCKED", ["scoring", "done"])
    assert score.reasons == ("TRV201 tests/sealed/test_a.py:5: test_x: boom\n  next: Mend it.", "TRV101: 2 findings")


def test_waiting_in_vain_is_an_error_that_says_that_the_score_goes_on(wired) -> None:
    client, _ = wired(Answer(200, OPEN))
    with pytest.raises(ClientError, match="still scoring"):
        client.wait("s1", timeout_s=0)


def test_an_answer_that_says_later_is_asked_again(wired) -> None:
    client, wire = wired(Answer(503, {}), Answer(429, {}, {"Retry-After": "1"}), ConnectionResetError(), Answer(200, OPEN))
    assert client.score("s1").id == "s1"
    assert len(wire.asked) == 4


@pytest.mark.parametrize(
    ("answer", "status", "match"),
    [
        (Answer(403, {"message": "this token lacks the scope 'submit'"}), 403, "lacks the scope"),
        (Answer(404, b"<html>"), 404, "404"),
        (Answer(302, b"", {"Location": "https://evil.example"}), 302, "302"),
        (Answer(200, b"<html>"), 0, "not JSON"),
        (Answer(200, [1]), 0, "no object"),
    ],
)
def test_a_refusal_is_one_error_with_its_status(wired, answer, status, match) -> None:
    client, wire = wired(answer)
    with pytest.raises(ClientError, match=match) as caught:
        client.score("s1")
    assert caught.value.status == status
    assert "trv_secret" not in str(caught.value)
    assert len(wire.asked) == 1


def test_a_service_that_does_not_answer_is_named(wired) -> None:
    client, _ = wired(*[ConnectionRefusedError("refused")] * 9)
    with pytest.raises(ClientError, match="does not answer: refused") as caught:
        client.score("s1")
    assert caught.value.where == "scores.example"


@pytest.mark.parametrize("merge", ["true", 1, "yes", {}])
def test_a_merge_that_is_not_plainly_true_is_no_merge(wired, merge) -> None:
    client, _ = wired(Answer(200, {**BLOCKED, "merge": merge}))
    assert client.score("s1").word == "NOT_DECIDED"


@pytest.mark.parametrize("url", ["scores.example", "ftp://x", "https://", "https://u:p@x", "https://x?y"])
def test_an_address_that_is_none_is_refused(url) -> None:
    with pytest.raises(ClientError):
        Client(url)


def test_a_token_never_goes_in_the_open_to_another_host() -> None:
    with pytest.raises(ClientError, match="plain HTTP"):
        Client("http://scores.example", token="t")
    Client("http://127.0.0.1:8321", token="t").close()
    Client("http://scores.example", token="t", insecure_http=True).close()
    with pytest.raises(ClientError, match="no token has"):
        Client("https://scores.example", token="t\r\nX-Evil: 1")


def test_events_are_read_from_the_stream_until_the_end(wired) -> None:
    stream = b': hello\n\nid: 4\nevent: scoring\ndata: {"text": "12 of 40"}\n\nid: 5\nevent: end\ndata: {"state": "done"}\n\nevent: late\ndata: {}\n\n'
    client, wire = wired(Answer(200, stream))
    assert [(event.id, event.kind, event.text) for event in client.events("s1", after=3)] == [(4, "scoring", "12 of 40"), (5, "end", "done")]
    assert wire.asked[0][3]["Last-Event-ID"] == "3"


def test_an_agent_is_told_the_word_first_and_what_to_do(wired) -> None:
    client, _ = wired(Answer(200, BLOCKED))
    text = Tools(connect=lambda: client).read_score("s1")
    assert text.splitlines()[0].startswith("MERGE_BLOCKED  score s1 of shop")
    assert "next: Mend it." in text
    assert "call read_score with s1 again" in told(Score(id="s1", repo="shop", base="b", head="c", state="queued", over=False, merge=None))
    assert "the merge stays blocked" in told(Score(id="s1", repo="shop", base="b", head="c", state="failed", over=True, merge=None))


def test_an_agent_reaches_only_the_repositories_that_the_operator_named(wired) -> None:
    client, wire = wired(Answer(200, BLOCKED))
    tools = Tools(connect=lambda: client, repos=("ledger",))
    for call in (lambda: tools.submit_score("shop", "b", "c"), lambda: tools.list_scores("shop"), lambda: tools.list_leases("shop"), lambda: tools.read_score("s1")):
        with pytest.raises(UsageError, match="no repository 'shop' here"):
            call()
    assert len(wire.asked) == 1


def test_a_rule_is_explained_without_the_service() -> None:
    tools = Tools(connect=lambda: pytest.fail("asked the service"))
    assert "sealed property does not hold" in tools.explain_rule("trv201")
    with pytest.raises(UsageError, match="no rule"):
        tools.explain_rule("TRV999")


def test_the_bytes_of_a_file_are_given_as_they_were_written(wired) -> None:
    client, wire = wired(Answer(200, b'{"schema":  1}\n'))
    assert client.content("s1", "decision.json") == b'{"schema":  1}\n'
    assert wire.asked[0][1] == "/trivet/v1/scores/s1/decision.json"


@pytest.mark.parametrize(
    ("environ", "url", "address", "tunnel"),
    [
        ({}, "https://scores.example:8443", ("scores.example", 8443), None),
        ({"https_proxy": "http://us%40r:word@proxy.example:3128"}, "https://scores.example", ("proxy.example", 3128), ("scores.example", 443)),
        ({"https_proxy": "proxy.example:3128", "no_proxy": "scores.example"}, "https://scores.example", ("scores.example", 443), None),
        ({"https_proxy": "proxy.example:3128"}, "https://localhost:8321", ("localhost", 8321), None),
        ({"http_proxy": "http://proxy.example:3128"}, "http://127.0.0.1:8321", ("127.0.0.1", 8321), None),
    ],
)
def test_a_proxy_of_the_environment_is_used_for_other_hosts(monkeypatch, environ, url, address, tunnel) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name.upper(), raising=False)
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    connection = Client(url, token="t")._connect()
    assert (connection.host, connection.port) == address
    assert ((connection._tunnel_host, connection._tunnel_port) if connection._tunnel_host else None) == tunnel
    if "@" in environ.get("https_proxy", ""):
        assert connection._tunnel_headers["Proxy-Authorization"] == "Basic dXNAcjp3b3Jk"
