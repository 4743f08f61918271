"""What does a first judgement cost, relative to plain pytest on the same tests?

python benchmarks/bench_cold.py [--python EXE] [--tasks DIR [--only NAME]...] [--isolation auto|shared]...

A project of 420 small sealed tests is made, with xdist as a rival too where EXE has it. With ``--tasks``, real ones as well: DIR holds one
folder a task, with ``repo`` (adopted: tags ``t-base`` and ``t-head``), ``venv`` and ``layout.json``. In each round every rival runs once:
plain pytest on head's tree, and ``trivet gate --no-cache`` with sampled controls for each isolation. Nothing is kept between them: each
calibrates base, makes all bytecode, and runs head, its controls and what the isolation asks for.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from measure import ROOT, Figure, Taken, arguments, finish, in_turn, quartiles, under_load

SRC = ROOT / "src"
FILES, TESTS = 21, 20
OUTSIDE = dict(os.environ)  # noqa: TID251 - the rivals run as a developer would call them


def run(args: Sequence[object], cwd: Path, env: dict[str, str], *, status: int | None = None) -> None:
    """Run a command; ``status`` is the exit status that it must have."""
    done = subprocess.run([str(arg) for arg in args], cwd=cwd, env=env, check=False, capture_output=True, text=True)
    if status is not None and done.returncode != status:
        raise SystemExit(f"{args}: exit status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")


def git(repo: Path, *args: str) -> None:
    """Run git in a repository of ours."""
    subprocess.run(["git", "-C", repo, "-c", "user.name=dev", "-c", "user.email=dev@example.org", *args], check=True, capture_output=True)


class Task:
    """One repository to judge: ``base`` and ``head`` are revisions, ``tests`` what plain pytest is given."""

    def __init__(self, repo: Path, python: Path, tests: list[str], root: str, env: dict[str, str]) -> None:
        self.repo, self.python, self.tests, self.root, self.env = repo, python, tests, root, env
        self.tree = Path(tempfile.mkdtemp(prefix="plain-")) / "tree"
        git(repo, "worktree", "add", "-f", "--detach", str(self.tree), "t-head")

    def plain(self, *more: str) -> None:
        """Plain pytest, as a developer would call it."""
        env = {**OUTSIDE, "PYTHONPATH": str(self.tree / self.root), **self.env}
        run([self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *more, *self.tests], self.tree, env)

    def gate(self, isolation: str) -> None:
        """A first judgement."""
        env = {**OUTSIDE, "PYTHONPATH": str(SRC)}
        with tempfile.TemporaryDirectory() as out:
            asked = ["--isolation", isolation, "--no-cache", "--python", self.python, "--out", out]
            args = [sys.executable, "-m", "trivet", "gate", "--repo", self.repo, "--base", "t-base", "--head", "t-head", *asked]
            run(args, self.repo, env, status=0)

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
    run([sys.executable, "-m", "trivet", "seal", "--repo", repo], repo, env, status=0)
    for tag, text in (("t-base", ""), ("t-head", "\n\ndef twice(a):\n    return add(a, a)\n")):
        with (repo / "src/thing/__init__.py").open("a") as file:
            file.write(text)
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "--allow-empty", "-m", tag)
        git(repo, "tag", tag)
    return Task(repo, python, ["tests/sealed"], "src", {})


def measure(task: Task, isolations: Sequence[str], rounds: int, *, xdist: bool = False) -> Taken:
    """Time all rivals; the first round (in which plain pytest writes bytecode) does not count."""
    calls = {"plain": task.plain, **{name: (lambda name=name: task.gate(name)) for name in isolations}}
    if xdist:
        calls["xdist"] = lambda: task.plain("-n", "2")
    return in_turn(calls, rounds=rounds)


def has_xdist(python: Path) -> bool:
    """Whether an interpreter has pytest-xdist."""
    return subprocess.run([python, "-c", "import xdist"], capture_output=True, check=False).returncode == 0


LIMIT = "base and head both run: on two cores the time of one run, beside reading the change (0.3 s), base's bytecode, and the controls"


def figures_of(name: str, taken: Taken, isolations: Sequence[str]) -> list[Figure]:
    """The lines of one project."""
    found = []
    for isolation in isolations:
        ratios = taken.ratios(isolation, "plain")
        small_goal = 0.9 if isolation == "shared" else None
        shown = Figure(
            id="P3" if name == "small" else "P4" if isolation == "shared" else "",
            what=f"{name}, {isolation}: cold judgement over plain pytest",
            value=statistics.median(ratios),
            unit="times",
            goal=small_goal if name == "small" else 1.2 if isolation == "shared" else 2.5,
            limit=LIMIT,
            note=f"CPU {taken.ratio(isolation, 'plain', cpu=True):.2f} times",
            spread=quartiles(ratios),
        )
        found.append(shown)
    if "xdist" in taken.wall and "shared" in isolations:
        ratios = taken.ratios("xdist", "shared")
        what, value = f"{name}: xdist -n 2 over a cold judgement, shared", statistics.median(ratios)
        found.append(Figure(id="P3", what=what, value=value, unit="times", way="at least", goal=4.0, spread=quartiles(ratios)))
    return found


def main() -> int:
    """Measure and print."""
    parser = arguments(__doc__, rounds=5)
    parser.add_argument("--tasks", type=Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--isolation", action="append", default=[])
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    options = parser.parse_args()
    isolations = options.isolation or ["auto", "shared"]
    folder = Path(tempfile.mkdtemp(prefix="bench-cold-"))
    figures: list[Figure] = []
    times: dict[str, object] = {}
    shared: list[float] = []
    try:
        names = [] if options.tasks is None else options.only or sorted(path.parent.name for path in options.tasks.glob("*/layout.json"))
        for name in ("small", *names):
            task = small(folder, options.python) if name == "small" else from_layout(options.tasks / name)
            try:
                with under_load(options):
                    taken = measure(task, isolations, options.rounds, xdist=name == "small" and has_xdist(options.python))
            finally:
                task.close()
            figures += figures_of(name, taken, isolations)
            times[name] = taken.facts()
            if name != "small" and "shared" in isolations:
                shared.append(taken.ratio("shared", "plain"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if shared:
        what = f"median of {len(shared)} real projects, shared: cold judgement over plain pytest"
        figures.append(Figure(id="P4", what=what, value=statistics.median(shared), unit="times", goal=0.75, limit=LIMIT))
    return finish(options, __file__, figures, projects=times)


if __name__ == "__main__":
    sys.exit(main())
