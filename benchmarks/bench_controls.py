"""What do negative controls and tamper evidence cost, relative to the CPU time of the suite that they guard?

    python benchmarks/bench_controls.py [--project DIR --tests 'tests/test_*.py' --source src] [--python EXE] [--rounds N] [--json FILE]

Without a project a synthetic one of 400 tests is made. Runs the suite plain, with a control for every test, and with sampled controls, in
turn, behind no wall (``--lent``: behind the host's, as copies of a server, the way a judgement runs them), and prints one JSON object: CPU
seconds (user and system, of the run's processes), ratios to the plain suite, how many tests have an admitted control, and the milliseconds
of the identity map. Controls that are only a canary are counted apart.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

SRC = Path(__file__).resolve().parent.parent / "src"
sys.path.insert(0, str(SRC))

from trivet.model import ScorePolicy  # noqa: E402 - from this tree
from trivet.stage import control_runs  # noqa: E402
from trivet.stage.calibrate import calibration_of  # noqa: E402
from trivet.stage.controls import Book  # noqa: E402
from trivet.stage.forkserver import Servers, Warmth  # noqa: E402
from trivet.stage.runner import Runner, Stand, pinned_environment  # noqa: E402
from trivet.stage.wall import choose  # noqa: E402

FILES, TESTS, WORK = 20, 20, 20_000


def synthetic(root: Path) -> None:
    """A project whose tests compute for a few milliseconds each and compare values of many types."""
    (root / "src").mkdir()
    (root / "tests").mkdir()
    body = "    x = seed\n    for i in range(n):\n        x = (x * 31 + i) % 1000003\n    return x\n"
    (root / "src/thing.py").write_text("def work(n, seed):\n" + body)
    for number in range(FILES):
        lines = ["import pytest", "from thing import work", ""]
        for test in range(TESTS):
            seed = number * TESTS + test
            lines += [f"def test_{test}():", f"    first, again = work({WORK}, {seed}), work({WORK}, {seed})"]
            lines += ["    assert first == again"]
            lines += ["    assert [first, str(again)] == [again, str(first)]"]
            lines += ["    with pytest.raises(TypeError):", "        work(None, 1)", ""]
        (root / f"tests/test_{number}.py").write_text("\n".join(lines))


LENDING: list[Servers] = []


def cpu() -> float:
    """CPU seconds of all children that were waited for, and of the copies of servers that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    copies = sum(int(word) for servers in LENDING for pid in servers.pids() for word in _fields(pid)[13:15])
    return used.ru_utime + used.ru_stime + copies / os.sysconf("SC_CLK_TCK")


def _fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat behind the name: cutime and cstime are 13 and 14 of them."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def lend(runner: Runner, files: list[str]) -> Servers:
    """Let the runs of a runner be copies of a server that knows the bytecode of its tree."""
    servers = Servers(runner.wall, runner.python, pinned_environment(runner.policy, runner.python, Path("/")))
    root, tests = runner.stand.root, frozenset(files)
    paths = [str(path.relative_to(root)) for path in sorted(root.rglob("*.py")) if ".venv" not in path.parts]
    make = tuple((str(root / path), "test" if path in tests or path.endswith("conftest.py") else "source") for path in paths)
    servers.warm(Warmth(root=str(root), files=tuple(files), source_names=(), make=make))
    LENDING.append(servers)
    runner.servers = servers
    return servers


def spent(work) -> tuple[object, float]:
    """What a call returns, and the CPU seconds of the processes that it started."""
    before = cpu()
    return work(), cpu() - before


def map_ms(files: list[str], root: Path) -> dict[str, float]:
    """Milliseconds to take the identity map and to compare it, in this interpreter with pytest loaded."""
    spec = importlib.util.find_spec("pytest")
    if spec is None:
        return {}
    import pytest  # noqa: F401, PLC0415 - the map is about its modules

    from trivet.probe import tamper  # noqa: PLC0415

    sources = {"sealed": [], "source_roots": [str(root / "src")], "source_names": ["thing"]}
    job = SimpleNamespace(root=str(root), files=files, mode="plain", nonce="n", **sources)
    rounds = []
    for _ in range(5):
        began = time.process_time()
        state = tamper.before(job, lambda *_, **__: None)
        taken = time.process_time()
        state.compare()
        compared = time.process_time()
        state.glance()
        rounds.append((taken - began, compared - taken, time.process_time() - compared))
        state.audit.stop()
    names = ("map_ms", "compare_ms", "glance_ms")
    return {name: round(1000 * statistics.median(values), 3) for name, values in zip(names, zip(*rounds, strict=True), strict=True)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", type=Path)
    parser.add_argument("--tests", default="tests/**/test_*.py")
    parser.add_argument("--source", default="src")
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--lent", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-controls-") as folder:
        root = (args.project or Path(folder) / "project").resolve()
        if args.project is None:
            root.mkdir()
            synthetic(root)
        files = sorted(str(path.relative_to(root)) for path in root.glob(args.tests))
        texts = {file: (root / file).read_text(encoding="utf-8", errors="replace") for file in files}
        scratch = Path(folder) / "scratch"
        scratch.mkdir()
        policy = ScorePolicy(paths=(args.source, "."), clock="real")
        stand = Stand(root=root, source_roots=(str(root / args.source),), source_names=())
        wall = choose("auto") if args.lent else choose("none", allow_none=True)
        runner = Runner(stand=stand, policy=policy, wall=wall, python=args.python, scratch=scratch)
        if args.lent:
            lend(runner, files)
        run, book = control_runs.runner_of(runner), Book(texts)
        base = calibration_of(runner.run(runner.job(files)))
        calibration, admission = spent(lambda: control_runs.admit(book, base, run))
        passed = [test.id for test in base.tests if test.outcome == "passed"]
        with_control = [test for test in calibration.tests if test.controls]
        canaries = sum(all(kind == "canary" for kind, _ in test.controls) for test in with_control)
        cost: dict[str, list[float]] = {"plain": [], "all": [], "sample": []}
        red: dict[str, str] = {}
        for number in range(args.rounds):
            cost["plain"].append(spent(lambda: runner.run(runner.job(files)))[1])
            for mode in ("all", "sample"):
                rows, used = spent(lambda: control_runs.judge(book, calibration, passed, run, mode=mode, secret=number))  # noqa: B023 - called at once
                cost[mode].append(used)
                red[mode] = f"{sum(row.outcome == 'red' for row in rows)} of {len(rows)}"
        for servers in LENDING:
            servers.close()
        middle = {name: statistics.median(values) for name, values in cost.items()}
        result = {
            "tests": len(base.tests), "passed": len(passed), "with_control": len(with_control), "canary_only": canaries, "red": red,
            "cpu_s": {name: round(value, 2) for name, value in middle.items()}, "admission_cpu_s": round(admission, 2),
            "all_over_plain": round(middle["all"] / middle["plain"], 3), "sample_over_plain": round(middle["sample"] / middle["plain"], 3),
            **map_ms(files, root), "python": platform.python_version(), "machine": platform.machine(), "rounds": args.rounds,
        }  # fmt: skip
    text = json.dumps(result, indent=1)
    print(text)
    if args.json:
        args.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
