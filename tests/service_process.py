"""The service as processes, for tests: a folder with settings, a repository with many heads, servers and workers that can be killed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import httpx

from repos import Repo

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[1]


def until(ask: Callable[[], T], *, seconds: float = 60, what: str = "") -> T:
    """Ask until the answer is true."""
    end = time.monotonic() + seconds
    while True:
        answer = ask()
        if answer:
            return answer
        assert time.monotonic() < end, what or "it did not happen"
        time.sleep(0.05)


class Running:
    """One process of the service; its standard error goes to a file."""

    def __init__(self, folder: Path, name: str, *words: str) -> None:
        self.log = folder / f"{name}.log"
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT / "src"), "LC_ALL": "C.UTF-8", "CANARY": "c4nary-of-the-environment"}
        with self.log.open("ab") as log:
            self.begins = log.tell()
            self.process = subprocess.Popen([sys.executable, "-m", "trivet", *words, "--config", str(folder / "service.toml")], env=env, stdout=log, stderr=log, cwd=folder)

    @property
    def said(self) -> str:
        return self.log.read_bytes()[self.begins :].decode()

    def wait_for(self, pattern: str) -> re.Match[str]:
        def look() -> re.Match[str] | None:
            assert self.process.poll() is None, self.said
            return re.search(pattern, self.said)

        return until(look, what=f"{pattern} in {self.said}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(60)


class Place:
    """A folder with everything that a service needs."""

    def __init__(self, folder: Path, *, url: str = "", heads: int = 3, wait: float = 0.0, stub: bool = True, slots: int = 2, more: str = "", repo_more: str = "") -> None:
        self.folder = folder
        self.repo = Repo(folder / "origin")
        self.base = self.repo.commit({"README.md": "x\n"})
        self.heads = self._heads(heads)
        self.runs = folder / "runs.log"
        self.runs.touch()
        shutil.copy(ROOT / "tests" / "service_stub.py", folder / "stub.py")
        (folder / "stub.json").write_text(json.dumps({"wait": wait, "log": str(self.runs)}))
        if url:
            (folder / "store.url").write_text(url)
            (folder / "store.url").chmod(0o600)
        command = f"command = {json.dumps([sys.executable, '-S', '-E', str(folder / 'stub.py')])}" if stub else ""
        (folder / "service.toml").write_text(f"""schema = 1
[server]
port = 0
drain_s = 5
{more}
[store]
data = "data"
{'url_file = "store.url"' if url else ""}
[worker]
slots = {slots}
poll_s = 0.05
{command}
[fetch]
protocols = ["file"]
[[repositories]]
name = "alpha"
url = "{self.repo.root}"
{repo_more}
""")

    def _heads(self, count: int) -> list[str]:
        """Many heads in one go: a commit each on top of base, made by fast-import."""
        rows = []
        for i in range(count):
            rows.append(f"commit refs/heads/topic/{i}\nmark :{i + 1}\ncommitter a <a@example.org> {1_700_001_000 + i} +0000\ndata 1\n{i % 10}\nfrom {self.base}\nM 100644 inline src/f{i}.py\ndata 2\n{i % 10}\n\n")
        self.repo.git("fast-import", "--quiet", f"--export-marks={self.folder / 'marks'}", data="".join(rows).encode())
        return [line.split()[1] for line in sorted((self.folder / "marks").read_text().splitlines(), key=lambda line: int(line.split()[0][1:]))] if count else []

    def start(self, name: str, *words: str) -> Running:
        return Running(self.folder, name, *words)

    def serve(self, name: str = "serve") -> tuple[Running, str]:
        running = self.start(name, "serve")
        return running, running.wait_for(r"serves on (http\S+)")[1]

    def token(self, *words: str) -> str:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "PYTHONPATH": str(ROOT / "src")}
        command = [sys.executable, "-m", "trivet", "token", "new", "--name", "agent", *(words or ("--scope", "submit", "--scope", "read", "--repo", "alpha")), "--config", str(self.folder / "service.toml")]
        return subprocess.run(command, env=env, capture_output=True, check=True, text=True).stdout.strip()

    def client(self, address: str, token: str = "") -> httpx.Client:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=address, headers=headers, timeout=30, trust_env=False)

    def ask(self, client: httpx.Client, head: str, **more: str) -> dict:
        answer = client.post("/v1/scores", json={"repo": "alpha", "base": self.base, "head": head, **more})
        assert answer.status_code in (200, 202), answer.text
        return answer.json()


def outcome_of(head: str) -> bool:
    """What the stub says of a head."""
    return head[-1].isdigit()
