"""Recorded HTTP exchanges: what is kept, what is found again, and that no secret is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trivet.probe import cassettes, recorded, redact


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://me:pass@api.example.org/a?token=abc123&page=2", "https://api.example.org/a?token=REDACTED&page=2"),
        ("https://api.example.org/a?accessToken=abc123", "https://api.example.org/a?accessToken=REDACTED"),
        ("https://api.example.org/a?q=monkey&keyboard=de", "https://api.example.org/a?q=monkey&keyboard=de"),
        ("https://api.example.org/hunter2hunter2/a", "https://api.example.org/REDACTED/a"),
    ],
)
def test_addresses_lose_their_secrets_and_nothing_else(given: str, kept: str) -> None:
    assert redact.uri(given, ("hunter2hunter2",)) == kept


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (b'{"user": "a", "password": "b", "list": [{"api_key": "c"}]}', {"user": "a", "password": "REDACTED", "list": [{"api_key": "REDACTED"}]}),
        (b'{"author": "ada", "monkey": 1}', {"author": "ada", "monkey": 1}),
        (b'{"note": "Bearer abcdefghijkl"}', {"note": "REDACTED"}),
    ],
)
def test_fields_of_bodies_too(given: bytes, kept: object) -> None:
    assert json.loads(redact.body(given)) == kept
    assert redact.body(b"user=a&password=b") == b"user=a&password=REDACTED"
    assert redact.body(bytes(range(256))) == bytes(range(256))


def test_headers_too_in_any_case() -> None:
    given = {"AUTHORIZATION": "Basic eA==", "Set-Cookie": ["a=b"], "X-My-Token": "t", "Accept": "text/plain"}
    assert redact.headers(given) == {"AUTHORIZATION": ["REDACTED"], "Set-Cookie": ["REDACTED"], "X-My-Token": ["REDACTED"], "Accept": ["text/plain"]}


def test_only_telling_variables_are_secrets() -> None:
    assert redact.values_of({"API_TOKEN": "longenough", "HOME": "/home/somebody", "DB_PASSWORD": "short"}) == ["longenough"]


def exchange(uri: str, answer: str, method: str = "GET", body: str = "") -> dict[str, object]:
    request = {"method": method, "uri": uri, "headers": {}, "body": {"string": body}}
    return {"request": request, "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": answer}}}


@pytest.fixture
def tape(tmp_path: Path) -> cassettes.Tape:
    path = tmp_path / "t.json"
    rows = [
        exchange("http://a.example/x?b=2&a=1", "first"),
        exchange("http://a.example/x?b=2&a=1", "second"),
        exchange("http://a.example/y", "posted", "POST", '{"a": 1, "b": 2}'),
        exchange("https://a.example/z?token=REDACTED", "secret"),
    ]
    path.write_text(cassettes.dumps(rows))
    return cassettes.Tape(str(path))


def text(response: dict[str, object] | None) -> str:
    return "" if response is None else cassettes.unpacked(response["body"]).decode()


def test_each_exchange_is_given_once_in_its_order(tape: cassettes.Tape) -> None:
    asked = [text(tape.answer("get", "http://A.example:80/x?a=1&b=2", b"")) for _ in range(3)]
    assert asked == ["first", "second", ""]
    assert "was recorded 2 times" in tape.why_not("GET", "http://a.example/x?a=1&b=2", b"")


def test_bodies_are_compared_as_json_and_secrets_by_their_absence(tape: cassettes.Tape) -> None:
    assert text(tape.answer("POST", "http://a.example/y", b'{"b":2,"a":1}')) == "posted"
    assert text(tape.answer("GET", "https://a.example/z?token=quite-another", b"")) == "secret"


@pytest.mark.parametrize(
    ("method", "uri", "body"),
    [("GET", "http://a.example/x?a=1", b""), ("GET", "https://a.example/x?b=2&a=1", b""), ("POST", "http://a.example/y", b"{}"), ("GET", "http://b.example/y", b"")],
)
def test_another_request_has_no_answer_and_is_named(tape: cassettes.Tape, method: str, uri: str, body: bytes) -> None:
    assert tape.answer(method, uri, body) is None
    assert f"no recording of {method} {uri}" in tape.why_not(method, uri, body)


def test_what_is_asked_is_named_without_its_secrets(tape: cassettes.Tape) -> None:
    assert "abc123" not in tape.why_not("GET", "https://a.example/q?token=abc123", b"")


def test_tests_have_files_of_their_own() -> None:
    ids = ["tests/sealed/test_a.py::test_b", "tests/sealed/test_a.py::T::test_b", "tests/sealed/test_a.py::test_b[1]", "tests/sealed/test_a.py::test_b[../x]"]
    paths = [cassettes.path_of("http", name) for name in ids]
    assert len(set(paths)) == len(ids)
    assert paths[0] == "http/tests/sealed/test_a/test_b.json"
    assert all(".." not in path for path in paths)


def test_bytes_survive() -> None:
    for data in (b"", b"text", bytes(range(256))):
        assert cassettes.unpacked(json.loads(json.dumps(cassettes.packed(data)))) == data


def test_a_request_is_read_from_the_wire_when_it_is_whole() -> None:
    plain = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcREST"
    assert recorded.parsed(plain[:-6]) is None
    assert recorded.parsed(plain) == ("POST", "/a", {"host": "x", "content-length": "3"}, b"abc", len(plain) - 4)
    chunked = b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    found = recorded.parsed(chunked)
    assert found is not None
    assert (found[3], found[4]) == (b"abcde", len(chunked))
    assert recorded.parsed(chunked[:-1]) is None


def test_an_answer_goes_out_with_its_length_and_without_what_no_longer_holds() -> None:
    response = {"status": {"code": 200, "message": "OK"}, "headers": {"Transfer-Encoding": ["chunked"], "X-A": ["1", "2"]}, "body": {"string": "abc"}}
    assert recorded.written(response, "GET") == b"HTTP/1.1 200 OK\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 3\r\n\r\nabc"
    assert recorded.written({**response, "status": {"code": 204}}, "GET").startswith(b"HTTP/1.1 204\r\n")
