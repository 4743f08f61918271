"""Whole verdicts from the cache: a hit, an audit, a planted lie, damage, and folders that cannot be trusted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from repos import VERDICTS, Content, Repo
from trivet import recall
from trivet.store import Store

SRC = Path(__file__).resolve().parents[2] / "src"
FROM_CACHE = "from the cache"


class Host:
    """A repository and a user with a cache of their own."""

    def __init__(self, folder: Path, head: Mapping[str, Content]) -> None:
        self.folder = folder
        self.repo = Repo(folder / "repo")
        self.repo.put(VERDICTS)
        self.commit("base")
        self.repo.put(head)
        self.commit("head")
        self.cache = folder / "cache" / "trivet"

    def commit(self, tag: str) -> None:
        self.repo.git("add", "--all", "--force")
        self.repo.git("commit", "--quiet", "--message", tag)
        self.repo.git("tag", tag)

    def gate(self, *options: str, audited: int = 10**12, head: str = "head") -> tuple[int, str, dict[str, object]]:
        """Exit status, what was told on standard error, and the decision."""
        out = self.folder / "out"
        call = ["gate", "--repo", str(self.repo.root), "--base", "base", "--head", head, "--out", str(out), "--python", sys.executable]
        call += ["--isolation", "shared", "--controls", "off", "--no-advisory", *options]
        program = f"import sys\nfrom trivet import recall\nrecall.AUDITED = {audited}\nfrom trivet.__main__ import run\nrun()\n"
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache"), "PYTHONPATH": str(SRC)}
        done = subprocess.run([sys.executable, "-c", program, *call], env=env, capture_output=True, text=True, check=False, timeout=180)
        return done.returncode, done.stderr, json.loads((out / "decision.json").read_text("ascii"))

    def trivet(self, *argv: str) -> tuple[int, str]:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache"), "PYTHONPATH": str(SRC)}
        done = subprocess.run([sys.executable, "-m", "trivet", *argv], env=env, capture_output=True, text=True, check=False, timeout=180)
        return done.returncode, done.stdout + done.stderr

    def question(self, head: str = "head") -> recall.Asked:
        options = {"isolation": "shared", "controls": "off", "no-advisory": True}
        return recall.Asked(repo=str(self.repo.root), base="base", head=head, python=sys.executable, options=options)


GOOD = {"src/pkg/core.py": "def double(n):\n    return n + n\n"}
BAD = {"src/pkg/core.py": "def double(n):\n    return n\n"}


def test_the_same_question_is_answered_by_one_look_up_and_audits_agree(tmp_path: Path) -> None:
    host = Host(tmp_path, GOOD)
    status, told, first = host.gate()
    assert (status, FROM_CACHE in told) == (0, False)
    status, told, second = host.gate()
    assert (status, FROM_CACHE in told) == (0, True)
    assert second == first
    status, told, third = host.gate("--json")
    assert (status, FROM_CACHE in told) == (0, True)
    assert third == first
    status, told, audited = host.gate(audited=1)
    assert (status, FROM_CACHE in told, "quarantine" in told) == (0, False, False)
    assert audited["verdicts"] == first["verdicts"]
    assert recall.find(host.question(), str(host.cache), print) is not None
    assert host.trivet("cache", "verify")[0] == 0
    assert "verdict" in host.trivet("cache", "info")[1]
    assert host.trivet("cache", "clear")[0] == 0
    assert not list(host.cache.glob("trivet.db*"))


def test_a_verdict_that_a_new_run_contradicts_does_not_count_and_takes_its_family_out(tmp_path: Path) -> None:
    """The green answer to another change, planted for a red one, is found out by an audit; nothing of that base is used again."""
    host = Host(tmp_path, BAD)
    host.repo.git("checkout", "-q", "base")
    host.repo.put(GOOD)
    host.commit("good")
    assert host.gate(head="good")[0] == 0
    store = Store(host.cache)
    found = recall.find(host.question("good"), str(host.cache), print)
    assert found is not None
    recall.keep(host.question(), str(host.cache), found.parts, python=sys.executable, family=found.family, now=0.0)
    assert host.gate()[0] == 0, "the lie is believed until it is drawn"
    status, told, decision = host.gate(audited=1)
    assert (status, decision["merge"]) == (1, False)
    assert "the new one counts" in told
    assert store.info()["quarantine"]
    assert all(recall.find(host.question(head), str(host.cache), print) is None for head in ("head", "good"))


def test_a_damaged_cache_is_told_once_and_judged_without(tmp_path: Path) -> None:
    host = Host(tmp_path, BAD)
    host.cache.mkdir(parents=True, mode=0o700)
    (host.cache / "trivet.db").write_bytes(b"garbage" * 2000)
    status, told, decision = host.gate()
    assert (status, decision["merge"]) == (1, False)
    assert told.count("set aside") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_cache_of_another_user_is_refused(tmp_path: Path) -> None:
    host = Host(tmp_path, GOOD)
    host.cache.mkdir(parents=True, mode=0o700)
    os.chown(host.cache, 12345, 12345)
    status, told, _ = host.gate()
    assert status == 0
    assert "another user" in told
    assert not list(host.cache.iterdir())
