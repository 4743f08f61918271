"""How long does it take to classify a change and judge its oracle-integrity, against `git diff --name-status` on the same change?

    python benchmarks/bench_classify.py [--files 35000] [--rounds 15] [--loaded] [--json FILE]

Builds a repository of that many files in a temporary folder, with a change of 300 paths and one of 10,000, then measures in turn: the git
command; the same work in trivet inside one process (policy, change set, zones, seal, verdict); and the start of Python with trivet's
imports, which a command line pays once. The goals are a ratio of at most 3 for 300 paths and of at most 2 for 10,000 (in process).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from measure import ROOT, Figure, arguments, finish, in_turn, quartiles, under_load

from trivet.git import CommitTree, open_repository
from trivet.legs import oracle
from trivet.sealed.changes import read_changes
from trivet.sealed.manifest import read_seal
from trivet.sealed.policy import read_policy
from trivet.zones import Zones

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
        repository.foresee(base, head)
        tree = CommitTree(repository, base, "base")
        policy = read_policy(tree)
        zones = Zones(policy.zones)
        seal = read_seal(tree, policy, zones)
        facts = read_changes(repository, base, head, policy, zones)
        if oracle.judge(facts, seal).status != "PASS":
            raise SystemExit("the change must pass oracle-integrity")


def start_python(_: Path) -> None:
    names = "trivet.git, trivet.sealed.policy, trivet.sealed.changes, trivet.sealed.manifest, trivet.legs.oracle"
    subprocess.run([sys.executable, "-c", f"import {names}"], env={"PYTHONPATH": str(ROOT / "src"), "PATH": os.defpath}, check=True)


def main() -> int:
    parser = arguments(__doc__, rounds=15)
    parser.add_argument("--files", type=int, default=35_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, under_load(options):
        calls = {"python and imports": partial(start_python, Path(folder))}
        for changed in (300, 10_000):
            root = Path(folder) / str(changed)
            build(root, options.files, changed)
            calls[f"git diff, {changed} paths"] = partial(with_git, root)
            calls[f"trivet, {changed} paths"] = partial(with_trivet, root)
        taken = in_turn(calls, rounds=options.rounds)
    figures = []
    for changed, name, goal in ((300, "classify", 3.0), (10_000, "P8", 2.0)):
        ratios = taken.ratios(f"trivet, {changed} paths", f"git diff, {changed} paths")
        what = f"classification and oracle-integrity of {changed} paths in {options.files} files, over git diff --name-status"
        limit = "two git starts and one Python"
        figures.append(
            Figure(id=name, what=what, value=statistics.median(ratios), unit="times", goal=goal, limit=limit, spread=quartiles(ratios))
        )
    return finish(options, __file__, figures, taken, files=options.files)


if __name__ == "__main__":
    sys.exit(main())
