"""`trivet record` against a server on this host, and replay behind the wall without it."""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from trivet.cli import main
from trivet.leasing.desk import open_desk
from trivet.leasing.lab import open_lab
from trivet.model import TestResult as Result

pytest.importorskip("vcr")
pytestmark = pytest.mark.kernel
TEST = """
import json
import urllib.request

import pytest

BASE = "http://127.0.0.2:PORT"


def get(path, **headers):
    with urllib.request.urlopen(urllib.request.Request(BASE + path, headers=headers)) as answer:
        return json.load(answer)


def test_counts():
    assert [get("/count?token=abcdef123", Authorization="Bearer abcdefghijk")["n"] for _ in range(2)] == [1, 2]


def test_big():
    assert len(get("/big")["x"]) == 300_000


def test_requests():
    requests = pytest.importorskip("requests")
    assert requests.get(BASE + "/count?other=1").json()["key"]


def test_without():
    assert True
"""
LATER = TEST + """

def test_swallows():
    try:
        get("/other")
    except OSError:
        pass
"""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count = 0

    def do_GET(self) -> None:
        if self.path.startswith("/big"):
            data = json.dumps({"x": "y" * 300_000})
        else:
            Handler.count += 1
            data = json.dumps({"n": Handler.count, "key": "a-leaky-key"})
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Set-Cookie", "sid=hidden-cookie")
        self.end_headers()
        self.wfile.write(data.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    Handler.count = 0
    with http.server.ThreadingHTTPServer(("127.0.0.2", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture
def tree(tmp_path: Path, port: int) -> Path:
    files = {
        "trivet.toml": 'schema = 1\n[score]\npaths = ["src"]\n',
        "src/pkg.py": "",
        "tests/sealed/test_http.py": TEST.replace("PORT", str(port)),
        "fixtures/sealed/MANIFEST.sha256": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


def replayed(tree: Path) -> dict[str, Result]:
    with open_lab(open_desk(tree, 0.0), sys.executable, lambda _line: None) as lab:
        return {result.id.rpartition("::")[2]: result for result in lab.run(["tests/sealed/test_http.py"]).results}


def test_what_was_recorded_is_replayed_without_a_network_and_what_was_not_fails(
    tree: Path, port: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree)
    monkeypatch.setenv("API_TOKEN", "abcdef123")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    assert main(["record", "--python", sys.executable, "--", "pytest", "-q", "-p", "no:cacheprovider", "tests/sealed/test_http.py"]) == 0
    assert "3 recordings" in capsys.readouterr().out
    assert main(["seal", "--check"]) == 0
    kept = "".join(path.read_text() for path in (tree / "fixtures/sealed/http").rglob("*.json"))
    assert not [word for word in ("abcdef123", "abcdefghijk", "hidden-cookie", "a-leaky-key") if word in kept]
    (tree / "tests/sealed/test_http.py").write_text(LATER.replace("PORT", str(port)))
    results = replayed(tree)
    assert {name: result.outcome for name, result in results.items()} == {
        "test_counts": "passed",
        "test_big": "passed",
        "test_requests": "passed",
        "test_without": "passed",
        "test_swallows": "failed",
    }
    failure = results["test_swallows"].failure
    assert failure is not None
    assert f"no recording of GET http://127.0.0.2:{port}/other" in failure.message


def test_nothing_is_kept_of_tests_that_fail(tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    (tree / "tests/sealed/test_http.py").write_text("def test_a():\n    assert 0\n")
    assert main(["record", "--python", sys.executable, "--", "pytest", "-q", "-p", "no:cacheprovider", "tests/sealed/test_http.py"]) == 1
    assert "nothing was kept" in capsys.readouterr().out
    assert not (tree / "fixtures/sealed/http").exists()
