"""Whatever is wrong with a call, a repository or a host: one message, the right exit status, and no word of an earlier run."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from repos import VERDICTS, Repo
from trivet import gate
from trivet.cli import main

WORDS = ("src_score.txt", "oracle_integrity.txt", "flake_lease.txt")


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """Two commits, of which the second changes production code."""
    made = Repo(tmp_path / "repo")
    made.commit(VERDICTS)
    subprocess.run(["git", "-C", made.root, "tag", "base"], check=True)
    made.commit({**VERDICTS, "src/pkg/core.py": "VALUE = 2\n"})
    subprocess.run(["git", "-C", made.root, "tag", "head"], check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    out = tmp_path / "out"
    out.mkdir()
    for word in WORDS:
        (out / word).write_text("PASS\n")
    return made


def words() -> list[str]:
    return [Path("out", word).read_text() for word in WORDS]


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        (["--base", "nowhere", "--head", "head"], 2, "no such revision"),
        (["--base", "base"], 2, "--head"),
        (["--base", "base", "--head", "head", "--no-such-option"], 2, "--no-such-option"),
        (["--base", "base", "--head", "head", "--reruns", "-1"], 2, "--reruns"),
        (["--base", "base", "--head", "head", "--sign", "no-key.pem"], 3, "no-key.pem"),
        (["--base", "base", "--head", "head", "--report", "poem=x"], 2, "FORMAT=FILE"),
    ],
)
def test_a_wrong_call_leaves_no_word_of_an_earlier_run(
    repo: Repo, capsys: pytest.CaptureFixture[str], args: list[str], status: int, said: str
) -> None:
    assert main(["gate", "--repo", str(repo.root), "--out", "out", *args]) == status
    assert said in capsys.readouterr().err
    assert words() == ["NOT_RUN\n"] * 3


def test_no_repository_is_a_usage_error(repo: Repo, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["gate", "--repo", str(tmp_path / "out"), "--base", "base", "--head", "head", "--out", "out"]) == 2
    assert "not a git repository" in capsys.readouterr().err
    assert words() == ["NOT_RUN\n"] * 3


def test_a_wrong_call_of_one_leg_clears_that_leg_alone(repo: Repo) -> None:
    assert main(["verdict", "src-score", "--repo", str(repo.root), "--base", "base", "--out=out"]) == 2
    assert words() == ["NOT_RUN\n", "PASS\n", "PASS\n"]


def test_a_full_disk_is_no_defect_of_ours(repo: Repo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "trees/base/src")

    monkeypatch.setattr(gate, "gather", full)
    assert main(["gate", "--repo", str(repo.root), "--base", "base", "--head", "head", "--out", "out"]) == 3
    error = capsys.readouterr().err
    assert "TRV-E21" in error
    assert "TMPDIR" in error
    assert words() == ["NOT_RUN\n"] * 3


def test_a_missing_interpreter_is_named_and_nothing_passes(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["gate", "--repo", str(repo.root), "--base", "base", "--head", "head", "--out", "out", "--python", "no/such/python"]
    assert main(call) == 3
    assert "no/such/python" in capsys.readouterr().out
    assert words() == ["NOT_RUN\n", "PASS\n", "NOT_RUN\n"]
