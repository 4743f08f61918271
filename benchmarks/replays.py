"""Is one replay key one outcome? Replays one decision many times, in two folders, with the host kept busy, and counts the digests.

A small repository is made and judged once; then a copy of it in another folder and the first one are replayed in turn. The digest is of the
canonical JSON of everything but durations and the advisory lane.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from trivet.gate import GateRequest, judge
from trivet.replaying import outcome, replay
from trivet.report.document import document, text

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = {
    "src/pkg/__init__.py": "",
    "src/pkg/core.py": "def double(n):\n    return 2 * n\n",
    "tests/sealed/test_core.py": (
        "import pytest\nfrom pkg.core import double\n\n\n@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_double(n):\n"
        "    assert double(n) == 2 * n\n\n\ndef test_where(tmp_path):\n    assert double(1) == 2, tmp_path\n"
    ),
    "tests/sealed/MANIFEST.txt": "tests/sealed/test_core.py\n",
}
CHANGES = {"green": "def double(n):\n    return n + n\n", "red": "def double(n):\n    return object()\n"}


def repository(root: Path) -> None:
    """Two changes, one that passes and one that fails with an address in its message."""

    def git(*args: str) -> None:
        env = {"PATH": os.defpath, "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, *args], cwd=root, env=env, check=True, capture_output=True)

    root.mkdir()
    for name, content in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", "base")
    git("tag", "base")
    for tag, content in CHANGES.items():
        git("checkout", "-q", "base")
        (root / "src/pkg/core.py").write_text(content)
        git("commit", "-qam", tag)
        git("tag", tag)


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep the host busy."""
    workers = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(processes)]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()


def _spin() -> None:
    while True:
        sum(range(10_000))


def replays(count: int, head: str, python: str, *, load: int) -> tuple[Counter[str], list[str]]:
    """Digests of the outcomes, with how often each came, and the first differences."""
    digests: Counter[str] = Counter()
    differences = []
    with tempfile.TemporaryDirectory() as folder, busy(load):
        one, two = Path(folder) / "one", Path(folder) / "another folder"
        repository(one)
        shutil.copytree(one, two)
        now = one.stat().st_mtime
        first = judge(GateRequest(repo=one, base="base", head=head, now=now, python=python, advisory=False))
        recorded = json.loads(text(document(first)))
        digests[_digest(recorded)] += 1
        for number in range(count):
            root = (one, two)[number % 2]
            done = replay(recorded, GateRequest(repo=root, base="", head="", now=now + 86_400 * number, python=python))
            digests[_digest(json.loads(text(document(done.decision))))] += 1
            if done.first is not None:
                differences.append(" ".join(done.first))
    return digests, differences


def _digest(decision: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(outcome(decision), sort_keys=True).encode()).hexdigest()


def main() -> int:
    """Replay and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--load", type=int, default=2, help="processes that keep the host busy")
    parser.add_argument("--python", default=sys.executable)
    args = parser.parse_args()
    wrong = 0
    for head, share in (("green", args.count // 2), ("red", args.count - args.count // 2)):
        began = time.perf_counter()
        digests, differences = replays(share, head, args.python, load=args.load)
        wrong += len(digests) - 1
        took = time.perf_counter() - began
        print(f"{head}: {share} replays, {len(digests)} digest(s) {sorted(digests.values())}, {took:.0f} s", flush=True)
        for line in dict.fromkeys(differences):
            print(f"  differs at {line[:400]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
