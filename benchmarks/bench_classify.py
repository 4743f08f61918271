"""How long does it take to classify a change and judge its oracle-integrity, against `git diff --name-status` on the same change?

    python benchmarks/bench_classify.py [--files 35000] [--changed 300] [--rounds 15] [--json FILE]

Builds a repository of that many files in a temporary folder, then measures in turn, so that a busy host slows both alike: the git command;
the same work in trivet inside one process (policy, change set, zones, seal, verdict); and the start of Python with trivet's imports, which
a command line pays once. Prints medians and their ratio; the goal is a ratio of at most 3 (in process).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src")]

from trivet.git import CommitTree, open_repository  # noqa: E402
from trivet.legs import oracle  # noqa: E402
from trivet.sealed.changes import read_changes  # noqa: E402
from trivet.sealed.manifest import read_seal  # noqa: E402
from trivet.sealed.policy import read_policy  # noqa: E402
from trivet.zones import Zones  # noqa: E402

ENV = {
    "PATH": os.defpath,
    "HOME": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    **{f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in (("NAME", "b"), ("EMAIL", "b@example.org"))},
}


def build(root: Path, files: int, changed: int) -> None:
    """Write both commits with one `git fast-import`."""

    def blob(path: str, text: str) -> str:
        return f"M 100644 inline {path}\ndata {len(text)}\n{text}\n"

    rows = [f"src/pkg/d{number % 400:03}/s{number % 7}/m{number}.py" for number in range(files)]
    sealed = [f"tests/sealed/test_{number}.py" for number in range(200)]
    who = "committer b <b@example.org> 1700000000 +0000\n"
    first = "".join(blob(path, f"x = {number}\n") for number, path in enumerate(rows))
    first += "".join(blob(path, "def test_a():\n    assert 1\n") for path in sealed) + blob(
        "tests/sealed/MANIFEST.txt", "".join(f"{p}\n" for p in sorted(sealed))
    )
    step = max(1, files // changed)
    second = "".join(blob(path, "x = -1\n") for path in rows[::step][: changed - 10])
    second += "".join(blob(f"src/pkg/d{number:03}/new_{number}.py", "x = 0\n") for number in range(10))
    stream = f"commit refs/tags/base\nmark :1\n{who}data 4\nbase\n{first}\ncommit refs/tags/head\n{who}data 4\nhead\nfrom :1\n{second}\n"
    subprocess.run(["git", "init", "-q", str(root)], env=ENV, check=True)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=root, env=ENV, input=stream.encode(), check=True)


def with_git(root: Path) -> None:
    subprocess.run(["git", "diff", "--name-status", "base", "head"], cwd=root, env=ENV, stdout=subprocess.DEVNULL, check=True)


def with_trivet(root: Path) -> None:
    with open_repository(root) as repository:
        base, head = repository.commit("base"), repository.commit("head")
        tree = CommitTree(repository, base, "base")
        policy = read_policy(tree)
        zones = Zones(policy.zones)
        facts = read_changes(repository, base, head, policy, zones)
        if oracle.judge(facts, read_seal(tree, policy, zones)).status != "PASS":
            raise SystemExit("the change must pass oracle-integrity")


def start_python(_: Path) -> None:
    names = "trivet.git, trivet.sealed.policy, trivet.sealed.changes, trivet.sealed.manifest, trivet.legs.oracle"
    subprocess.run([sys.executable, "-c", f"import {names}"], env={"PYTHONPATH": str(ROOT / "src"), "PATH": os.defpath}, check=True)


def measured(call: Callable[[Path], None], root: Path) -> tuple[float, float]:
    """Seconds of wall clock, and of CPU in this process and its children."""
    used, began = os.times(), time.perf_counter()
    call(root)
    took, now = time.perf_counter() - began, os.times()
    return took, sum(now[:4]) - sum(used[:4])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=35_000)
    parser.add_argument("--changed", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    calls = {"git diff --name-status": with_git, "trivet, in process": with_trivet, "python and imports": start_python}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "repo"
        build(root, options.files, options.changed)
        for number in range(options.rounds + 1):
            for name, call in calls.items():
                row = measured(call, root)
                if number:  # the first round warms the caches
                    taken[name].append(row)
    pairs = [mine[0] / git[0] for mine, git in zip(taken["trivet, in process"], taken["git diff --name-status"], strict=True)]
    facts = {
        "files": options.files,
        "changed": options.changed,
        "rounds": options.rounds,
        "host": {"machine": platform.machine(), "cpus": os.cpu_count(), "python": platform.python_version(), "load": os.getloadavg()[0]},
        "median_s": {name: statistics.median(row[0] for row in rows) for name, rows in taken.items()},
        "cpu_s": {name: statistics.median(row[1] for row in rows) for name, rows in taken.items()},
        "ratio": statistics.median(pairs),
    }
    for name, took in facts["median_s"].items():
        print(f"{name:24} {took * 1000:8.1f} ms   cpu {facts['cpu_s'][name] * 1000:8.1f} ms")
    print(f"ratio trivet/git (median of pairs) {facts['ratio']:.2f}")
    if options.json:
        options.json.write_text(json.dumps(facts, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
