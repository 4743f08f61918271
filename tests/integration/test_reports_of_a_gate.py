"""A gate as a process of its own: what goes to standard output, to standard error, to a terminal, and into reports."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from repos import VERDICTS, Repo

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def call(tmp_path: Path) -> list[str]:
    """The command line of a gate on an honest patch."""
    repo = Repo(tmp_path / "repo")
    repo.commit(VERDICTS)
    repo.git("tag", "base")
    repo.commit({"src/pkg/core.py": "def double(n):\n    return n + n\n"})
    words = ["gate", "--repo", str(repo.root), "--base", "base", "--head", "main", "--python", sys.executable, "--no-cache", "--controls", "off"]
    return [sys.executable, "-m", "trivet", *words, "--no-advisory", "--out", str(tmp_path / "out")]


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    """A bare environment."""
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(SOURCE), "TERM": "xterm", "COLUMNS": "100", **more}


@pytest.mark.kernel
def test_ci_gets_data_on_one_stream_and_a_line_for_each_leg_on_the_other(call: list[str], tmp_path: Path) -> None:
    forms = ("sarif", "junit", "gitlab", "markdown", "github", "text", "json")
    more = [word for form in forms for word in ("--report", f"{form}={tmp_path / 'reports' / form}")]
    done = subprocess.run([*call, "--json", *more], env=environment(tmp_path, CI="true"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["merge"] is True
    assert [row.split()[:2] for row in done.stderr.splitlines()] == [
        ["oracle-integrity", "PASS"],
        ["src-score", "PASS"],
        ["flake-lease", "PASS"],
    ]
    written = {path.name: path.read_text("utf-8") for path in (tmp_path / "reports").iterdir()}
    assert written.keys() == {*forms}
    assert json.loads(written["sarif"])["version"] == "2.1.0"
    assert isinstance(json.loads(written["gitlab"]), list)
    assert ET.fromstring(written["junit"]).get("failures") == "0"
    assert written["markdown"].startswith("## ✅ MERGE_OK")
    assert written["text"].splitlines()[-1] == "MERGE_OK"
    assert json.loads(written["json"]) == json.loads(done.stdout)


@pytest.mark.kernel
def test_a_terminal_sees_how_far_it_is_and_keeps_only_the_report(call: list[str], tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    seen: list[bytes] = []

    def read() -> None:
        while True:
            try:
                data = os.read(leader, 65_536)
            except OSError:  # the other end is closed
                return
            if not data:
                return
            seen.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    done = subprocess.run(call, env=environment(tmp_path, NO_COLOR="1"), stdout=subprocess.PIPE, stderr=follower, text=True, check=False)
    os.close(follower)
    reader.join()
    os.close(leader)
    shown = b"".join(seen).decode("utf-8", "replace")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "MERGE_OK"
    assert "\x1b" not in done.stdout
    assert "1/1 tests" in shown or "2/2 tests" in shown
    assert not any(f"\x1b[{code}" in shown for code in ("31m", "32m", "35m", "36m", "38;")), "NO_COLOR takes the colours"
    assert shown.rstrip().endswith("\x1b[2K") or shown.rstrip().endswith("\x1b[?25h"), "the line is taken away"
