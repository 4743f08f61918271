"""What does a first judgement cost, relative to plain pytest on the same tests?

    python benchmarks/bench_cold.py --tasks DIR [--only NAME]... [--isolation auto|shared]... [--rounds N] [--json FILE]
    python benchmarks/bench_cold.py --small [--python EXE] [--rounds N] [--json FILE]

With ``--tasks``: DIR holds one folder a task, with ``repo`` (adopted: tags ``t-base`` and ``t-head``), ``venv`` and ``layout.json``. With
``--small`` a project of 420 small sealed tests is made, and xdist is a rival too where EXE has it. In each round every rival runs once, in
turn: plain pytest on head's tree, then ``trivet gate --no-cache`` for each isolation. Prints one row a task; ratios are medians of the
rounds' own ratios, in wall time and in CPU time of all processes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

SRC = Path(__file__).resolve().parent.parent / "src"
FILES, TESTS = 21, 20
OUTSIDE = dict(os.environ)  # noqa: TID251 - the rivals run as a developer would call them
Spent = tuple[float, float]
"""Wall and CPU seconds."""


def spent(args: Sequence[object], cwd: Path, env: dict[str, str], *, status: int | None = None) -> Spent:
    """Run a command and time it; ``status`` is the exit status that it must have."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([str(arg) for arg in args], cwd=cwd, env=env, check=False, capture_output=True, text=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if status is not None and done.returncode != status:
        raise SystemExit(f"{args}: exit status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def git(repo: Path, *args: str) -> None:
    """Run git in a repository of ours."""
    subprocess.run(["git", "-C", repo, "-c", "user.name=dev", "-c", "user.email=dev@example.org", *args], check=True, capture_output=True)


class Task:
    """One repository to judge: ``base`` and ``head`` are revisions, ``tests`` what plain pytest is given."""

    def __init__(self, repo: Path, python: Path, tests: list[str], root: str, env: dict[str, str]) -> None:
        self.repo, self.python, self.tests, self.root, self.env = repo, python, tests, root, env
        self.tree = Path(tempfile.mkdtemp(prefix="plain-")) / "tree"
        git(repo, "worktree", "add", "-f", "--detach", str(self.tree), "t-head")

    def plain(self, *more: str) -> Spent:
        """Plain pytest, as a developer would call it."""
        env = {**OUTSIDE, "PYTHONPATH": str(self.tree / self.root), **self.env}
        return spent([self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *more, *self.tests], self.tree, env)

    def gate(self, isolation: str) -> Spent:
        """A first judgement."""
        env = {**OUTSIDE, "PYTHONPATH": str(SRC)}
        with tempfile.TemporaryDirectory() as out:
            asked = ["--isolation", isolation, "--no-cache", "--python", self.python, "--out", out]
            args = [sys.executable, "-m", "trivet", "gate", "--repo", self.repo, "--base", "t-base", "--head", "t-head", *asked]
            return spent(args, self.repo, env, status=0)

    def close(self) -> None:
        """Remove the tree."""
        git(self.repo, "worktree", "remove", "-f", str(self.tree))
        shutil.rmtree(self.tree.parent, ignore_errors=True)


def from_layout(folder: Path) -> Task:
    """A task that was built and adopted before."""
    layout = json.loads((folder / "layout.json").read_text())
    tests = [*layout.get("args", []), *layout["tests"]]
    return Task(folder / "repo", folder / "venv/bin/python", tests, layout["import_root"], layout.get("env", {}))


def small(folder: Path, python: Path) -> Task:
    """420 small sealed tests of a small package, and a patch that changes nothing that they see."""
    repo = folder / "repo"
    (repo / "src/thing").mkdir(parents=True)
    (repo / "tests/sealed").mkdir(parents=True)
    (repo / "ci").mkdir()
    (repo / "ci/flake_leases.json").write_text('{"leases": []}\n')
    (repo / "trivet.toml").write_text('schema = 1\npreset = "verdicts"\n\n[score]\npaths = ["src"]\nclock = "real"\n')
    (repo / "src/thing/__init__.py").write_text("def add(a, b):\n    return a + b\n")
    for number in range(FILES):
        lines = ["from thing import add", ""]
        for test in range(TESTS):
            lines += ["", f"def test_{test}():", f"    total = add({number}, {test})", f"    assert total == {number + test}", ""]
        (repo / f"tests/sealed/test_{number:02}.py").write_text("\n".join(lines))
    git(folder, "init", "-q", str(repo))
    env = {**OUTSIDE, "PYTHONPATH": str(SRC)}
    spent([sys.executable, "-m", "trivet", "seal", "--repo", repo], repo, env, status=0)
    for tag, text in (("t-base", ""), ("t-head", "\n\ndef twice(a):\n    return add(a, a)\n")):
        with (repo / "src/thing/__init__.py").open("a") as file:
            file.write(text)
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "--allow-empty", "-m", tag)
        git(repo, "tag", tag)
    return Task(repo, python, ["tests/sealed"], "src", {})


def measure(task: Task, isolations: Sequence[str], rounds: int, *, xdist: bool = False) -> dict[str, object]:
    """Time all rivals ``rounds`` times, in turn; the first plain run (which writes bytecode) does not count."""
    task.plain()
    rows: dict[str, list[Spent]] = {"plain": []}
    for _ in range(rounds):
        rows["plain"].append(task.plain())
        if xdist:
            rows.setdefault("xdist", []).append(task.plain("-n", "2"))
        for isolation in isolations:
            rows.setdefault(isolation, []).append(task.gate(isolation))
    found: dict[str, object] = {"plain_s": round(statistics.median(wall for wall, _ in rows["plain"]), 3)}
    for name in [name for name in rows if name != "plain"]:
        pairs = list(zip(rows[name], rows["plain"], strict=True))
        found[name] = {
            "s": round(statistics.median(one[0] for one in rows[name]), 3),
            "wall": round(statistics.median(one[0] / plain[0] for one, plain in pairs), 2),
            "wall_all": [round(one[0] / plain[0], 2) for one, plain in pairs],
            "cpu": round(statistics.median(one[1] / plain[1] for one, plain in pairs), 2),
        }
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--isolation", action="append", default=[])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    opts = parser.parse_args()
    isolations = opts.isolation or ["auto", "shared"]
    results: dict[str, dict[str, object]] = {}
    folder = Path(tempfile.mkdtemp(prefix="bench-cold-"))
    try:
        jobs = []
        if opts.small:
            jobs.append(("small", lambda: small(folder, opts.python)))
        if opts.tasks is not None:
            names = opts.only or sorted(path.parent.name for path in opts.tasks.glob("*/layout.json"))
            jobs += [(name, lambda name=name: from_layout(opts.tasks / name)) for name in names]
        for name, make in jobs:
            task = make()
            try:
                results[name] = measure(task, isolations, opts.rounds, xdist=name == "small")
            finally:
                task.close()
            print(name, json.dumps(results[name]), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    facts = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count(), "load": os.getloadavg()}
    if opts.json is not None:
        opts.json.write_text(json.dumps({"rounds": opts.rounds, "facts": facts, "results": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
