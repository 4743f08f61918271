"""The wire: waits as it is asked to, keeps answers, follows nobody, bounds everything."""

from __future__ import annotations

import sys

import httpx
import pytest

from trivet.cli import main
from trivet.errors import ForgeError
from trivet.forge.wire import ANSWER_LIMIT_B, PAGES_LIMIT, Patience, RefusedError, Wire, asked_wait

DATE = "Tue, 22 Sep 2026 12:00:00 GMT"


def wire(handler, waits: list[float] | None = None, **patience: float) -> Wire:
    slept = [] if waits is None else waits
    return Wire(
        "https://git.example.org/api", headers={}, token=lambda: {"authorization": "Bearer secret"}, patience=Patience(**patience),
        transport=httpx.MockTransport(handler), sleep=slept.append, jitter=lambda: 1.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("status", "headers", "wait"),
    [
        (429, {"retry-after": "7"}, 7.0),
        (503, {"retry-after": "7"}, 7.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1790078410", "date": DATE}, 10.0),
        (429, {"ratelimit-remaining": "0", "ratelimit-reset": "1790078410", "date": DATE}, 10.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1", "date": DATE}, 1.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1790078410"}, 60.0),
        (403, {"x-ratelimit-remaining": "5", "x-ratelimit-reset": "1790078410", "date": DATE}, None),
        (200, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1790078410", "date": DATE}, None),
        (429, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        (429, {"retry-after": "-5"}, None),
        (500, {}, None),
    ],
)
def test_an_answer_says_how_long_to_wait_by_the_forges_own_clock(status: int, headers: dict[str, str], wait: float | None) -> None:
    assert asked_wait(status, headers) == wait


def test_back_off_doubles_and_is_bounded_in_all() -> None:
    waits: list[float] = []
    with pytest.raises(ForgeError, match="did not answer"):
        wire(lambda _request: httpx.Response(503), waits, total_s=10.0, first_s=1.0, longest_s=4.0).get("/x")
    assert waits == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 404, 410])
def test_a_no_is_told_at_once_and_nobody_is_followed(status: int) -> None:
    asked: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.host)
        return httpx.Response(status, headers={"location": "https://evil.example/x"}, json={"message": "no"})

    with pytest.raises(RefusedError) as caught:
        wire(handler).get("/x")
    assert (asked, caught.value.status) == (["git.example.org"], status)


def test_an_unchanged_answer_is_taken_from_what_is_kept() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        if request.headers.get("if-none-match") == '"1"':
            return httpx.Response(304)
        return httpx.Response(200, headers={"etag": '"1"'}, json={"n": 1})

    made = wire(handler)
    assert [made.get("/x"), made.get("/x")] == [{"n": 1}, {"n": 1}]


def test_unchanged_without_anything_kept_is_an_error() -> None:
    with pytest.raises(ForgeError, match="nothing is kept"):
        wire(lambda _request: httpx.Response(304)).get("/x")


@pytest.mark.parametrize("content", [b"<html>", b"{", b"\xff", b"[" * 200_000])
def test_an_answer_that_is_no_json_is_told(content: bytes) -> None:
    with pytest.raises(ForgeError, match="no JSON"):
        wire(lambda _request: httpx.Response(200, content=content)).get("/x")


def test_an_endless_answer_is_cut_off() -> None:
    def parts():
        while True:
            yield b" " * 1_000_000

    with pytest.raises(ForgeError, match=str(ANSWER_LIMIT_B)):
        wire(lambda _request: httpx.Response(200, content=parts())).get("/x")


def test_an_endless_list_is_cut_off() -> None:
    count: list[int] = []

    def handler(_request: httpx.Request) -> httpx.Response:
        count.append(1)
        return httpx.Response(200, headers={"link": f'<https://git.example.org/api/x?page={len(count)}>; rel="next"'}, json=[{}])

    with pytest.raises(ForgeError, match="more than"):
        wire(handler).rows("/x")
    assert len(count) == PAGES_LIMIT


@pytest.mark.parametrize("data", [{}, [1], "x", None, [[]]])
def test_a_list_that_is_none_is_told(data: object) -> None:
    with pytest.raises(ForgeError, match="no list"):
        wire(lambda _request: httpx.Response(200, json=data)).rows("/x")


def test_calls_are_counted() -> None:
    made = wire(lambda _request: httpx.Response(200, json={}))
    made.get("/x")
    made.send("POST", "/y", {})
    assert (made.count.calls, made.count.writes, made.count.log) == (2, 1, ["GET /api/x", "POST /api/y"])


def test_without_the_extra_one_error_names_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.setenv("GITHUB_TOKEN", "x")
    assert main(["github", "check", "--pending", "--number", "1", "--api", "https://git.example.org", "--repository", "a/b"]) == 2
    assert "trivet[forge]" in capsys.readouterr().err
