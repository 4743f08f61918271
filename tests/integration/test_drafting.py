"""Drafts by a local server that speaks as an OpenAI-compatible endpoint does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from repos import VERDICTS, Repo
from trivet.cli import main

TRACE = """Traceback (most recent call last):
  File "/home/rosa/shop/src/pkg/core.py", line 2, in double
ValueError: no rate for Rosa Meyer <rosa@example.org>, card 4111 1111 1111 1111
>    assert double(2) == 4
"""
SAMPLE = '{"order": {"full_name": "Rosa Meyer", "iban": "DE89370400440532013000", "n": 2}, "key": "AKIAIOSFODNN7EXAMPLE", "rate": %s}'
RATE = '{"zone": "winterland", "price": 1250}'
CODE = "from pkg.core import double\n\n\ndef test_double():\n    assert double(3) == 6\n"
PERSONAL = ("Rosa", "rosa", "Meyer", "4111", "DE89", "AKIA", "winterland", "1250", "assert double(2) == 4")


class Server:
    """Answers once as it is told to, and keeps what came."""

    def __init__(self) -> None:
        self.status, self.answer, self.location = 200, f"Here it is:\n```python\n{CODE}```\n", ""
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.seen.append((self.path, {key.lower(): value for key, value in self.headers.items()}, body))
                content = json.dumps({"choices": [{"message": {"role": "assistant", "content": outer.answer}}]}).encode()
                self.send_response(outer.status)
                if outer.location:
                    self.send_header("Location", outer.location)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.http.shutdown()
    thread.join()
    made.http.server_close()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with a sealed fixture, a trace and a sample beside it."""
    made = Repo(tmp_path / "repo")
    made.commit({**VERDICTS, "fixtures/sealed/rates.json": f'{{"rates": [{RATE}, {{"zone": "south", "price": 1}}]}}\n'})
    (tmp_path / "trace.txt").write_text(TRACE)
    (tmp_path / "sample.json").write_text(SAMPLE % RATE)
    return made


def call(repo: Repo, url: str, *more: str, sample: str = "sample.json") -> int:
    """``trivet draft`` on the repository."""
    files = ["--trace", str(repo.root.parent / "trace.txt"), "--sample", str(repo.root.parent / sample)]
    return main(["draft", "--repo", str(repo.root), "--url", url, "--model", "small", *files, *more])


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-unit-test-key-0123456789")
    for name in ("OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)


def test_a_draft_lands_in_the_proposed_zone_and_nowhere_else(repo: Repo, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    before = repo.git("status", "--porcelain", "--untracked-files=all")
    assert call(repo, server.url, "--name", "test_totals.py") == 0
    path = repo.root / "tests/proposed/test_totals.py"
    assert capsys.readouterr().out.strip() == str(path)
    assert path.read_text().endswith(CODE)
    assert path.read_text().startswith("# A draft")
    assert before == ""
    assert repo.git("status", "--porcelain", "--untracked-files=all") == "?? tests/proposed/test_totals.py"
    ((where, headers, _),) = server.seen
    assert (where, headers["authorization"]) == ("/v1/chat/completions", "Bearer sk-unit-test-key-0123456789")


def test_a_dry_run_shows_the_very_bytes_that_would_be_sent(repo: Repo, server: Server, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert call(repo, server.url, "--source", str(repo.root / "src/pkg/core.py"), "--dry-run") == 0
    shown = capfdbinary.readouterr()
    assert (server.seen, (repo.root / "tests/proposed").exists()) == ([], False)
    assert b"sk-unit-test" not in shown.out + shown.err
    assert call(repo, server.url, "--source", str(repo.root / "src/pkg/core.py")) == 0
    assert server.seen[0][2] == shown.out
    assert b"def double" in shown.out, "production code is sent where the caller names it"


def test_nothing_personal_secret_or_sealed_is_sent(repo: Repo, server: Server) -> None:
    assert call(repo, server.url, "--field", "rate_code") == 0
    sent = server.seen[0][2].decode()
    assert not [word for word in PERSONAL if word in sent]
    for word in ("[full_name 1]", "[email 1]", "[card 1]", "[secret 1]", "[sealed]", "[sealed line]", "[user 1]", "ValueError: no rate for"):
        assert word in sent


@pytest.mark.parametrize("copied", [False, True])
def test_a_sealed_file_is_never_sent_as_sample_or_source(
    repo: Repo, server: Server, copied: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    sealed = repo.root / "fixtures/sealed/rates.json"
    if copied:
        (repo.root.parent / "copy.json").write_bytes(sealed.read_bytes())
    assert call(repo, server.url, sample="copy.json" if copied else str(sealed)) == 2
    assert "never sent" in capsys.readouterr().err
    link = repo.root / "src/pkg/linked.py"
    link.symlink_to(repo.root / "tests/sealed/test_core.py")
    assert call(repo, server.url, "--source", str(link)) == 2
    assert call(repo, server.url, "--source", str(repo.root / "pyproject.toml")) == 2
    assert server.seen == []


@pytest.mark.parametrize("name", ["../test_x.py", "test_x.txt", "conftest.py", "test_X.py", "sub/test_x.py", "test_.py"])
def test_a_draft_has_a_plain_name(repo: Repo, server: Server, name: str) -> None:
    assert call(repo, server.url, "--name", name) == 2
    assert server.seen == []


def test_a_link_in_the_way_is_refused(repo: Repo, server: Server) -> None:
    (repo.root / "tests/proposed").symlink_to(repo.root / "tests/sealed")
    assert call(repo, server.url) == 2
    assert server.seen == []


def test_a_file_that_is_there_is_left_alone(repo: Repo, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    path = repo.root / "tests/proposed/test_mine.py"
    path.parent.mkdir()
    path.write_text("mine")
    assert call(repo, server.url, "--name", "test_mine.py") == 3
    assert (path.read_text(), "exists already" in capsys.readouterr().err) == ("mine", True)


@pytest.mark.parametrize(
    ("answer", "told"),
    [("no code at all, sorry", "not Python"), ("```python\nx = (\n```", "not Python"), ("```python\nx = 1\n```", "no test"), ("\0", "no text")],
)
def test_an_answer_that_is_no_test_is_not_written(repo: Repo, server: Server, answer: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    server.answer = answer
    assert call(repo, server.url) == 3
    assert told in capsys.readouterr().err
    assert not list((repo.root / "tests").glob("proposed/*"))


@pytest.mark.parametrize(("status", "hint"), [(401, "check the key"), (429, "try again"), (503, "try again"), (404, "answered 404")])
def test_an_error_of_the_endpoint_is_told_in_one_message(
    repo: Repo, server: Server, status: int, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server.status = status
    assert call(repo, server.url) == 3
    error = capsys.readouterr().err
    assert (hint in error, "TRV-E75" in error, "sk-unit" in error) == (True, True, False)


def test_no_redirect_is_followed(repo: Repo, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    server.status, server.location = 302, server.url + "/elsewhere"
    assert call(repo, server.url) == 3
    assert ("answered 302" in capsys.readouterr().err, len(server.seen)) == (True, 1)


@pytest.mark.parametrize("url", ["http://llm.example.org/v1", "ftp://x/v1", "llm.example.org", "https://rosa:x@llm.example.org/v1"])
def test_an_endpoint_that_would_leak_is_not_asked(repo: Repo, url: str) -> None:
    assert call(repo, url) == 2


def test_nobody_at_the_endpoint(repo: Repo, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(repo, "http://127.0.0.1:9/v1", "--timeout", "2") == 3
    assert "cannot be asked" in capsys.readouterr().err


def test_an_endpoint_and_a_model_are_needed(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draft", "--repo", str(repo.root), "--trace", str(repo.root.parent / "trace.txt")]) == 2
    assert "OPENAI_BASE_URL" in capsys.readouterr().err
