"""What a wall adds to the start of a run: fork and exec alone, each wall, and bubblewrap, in turn (paired), as JSON.

    python benchmarks/bench_wall.py [--rounds N] [--check]

Each round starts one trivial program in every way, so that a busy machine is busy for all of them. ``started``: from the call to the result
of the program; ``closed``: until the supervisor has left as well. ``added``: the median of the differences to the bare fork of its round.
With ``--check`` the exit status is 1 unless the kernel wall adds at most 3 ms and at most half of what bubblewrap adds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from trivet.errors import SandboxError
from trivet.stage.wall import Limits, Reach, Wall, choose, interpreter_reach

PROGRAM = "/bin/true"


def bare() -> tuple[float, float]:
    began = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os.execv(PROGRAM, [PROGRAM])
    os.waitpid(pid, 0)
    took = time.perf_counter() - began
    return took, took


def behind(wall: Wall, folder: Path, read: tuple[Path, ...]) -> Callable[[], tuple[float, float]]:
    def start() -> tuple[float, float]:
        began = time.perf_counter()
        with wall.start([PROGRAM], cwd=folder, env={}, reach=Reach(read=read, private=(folder,)), limits=Limits()) as child:
            if child.wait(20) != 0:
                raise SystemExit(f"the program failed: {child.output!r}")
            started = time.perf_counter() - began
        return started, time.perf_counter() - began

    return start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    read = interpreter_reach(Path(sys.executable))
    with tempfile.TemporaryDirectory(prefix="trivet-bench-") as folder:
        ways: dict[str, Callable[[], tuple[float, float]]] = {"bare": bare}
        for name in ("kernel", "bubblewrap"):
            try:
                ways[name] = behind(choose(name), Path(folder), read)  # type: ignore[arg-type]
            except SandboxError as error:
                print(f"{name}: {error.message}; {error.hint}", file=sys.stderr)
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for round_ in range(args.rounds + 3):
            for name, way in ways.items():
                took = way()
                if round_ >= 3:
                    times[name].append(took)
    rows = {}
    for name, taken in times.items():
        added = [1000 * (own[0] - other[0]) for own, other in zip(taken, times["bare"], strict=True)]
        rows[name] = {
            "started_ms": round(1000 * statistics.median(row[0] for row in taken), 2),
            "closed_ms": round(1000 * statistics.median(row[1] for row in taken), 2),
            "added_ms": round(statistics.median(added), 2),
            "added_ms_quartiles": [round(value, 2) for value in statistics.quantiles(added, n=4)],
        }
    good = rows["kernel"]["added_ms"] <= 3 and (
        "bubblewrap" not in rows or rows["kernel"]["added_ms"] <= rows["bubblewrap"]["added_ms"] / 2
    )
    machine = {"system": platform.platform(), "processors": os.cpu_count(), "python": platform.python_version(), "root": os.geteuid() == 0}
    print(json.dumps({"rounds": args.rounds, "machine": machine, "ways": rows, "good": good}, indent=1))
    return int(args.check and not good)


if __name__ == "__main__":
    raise SystemExit(main())
