"""The common part of the benchmarks: calls in turn, medians and spread, machine facts, goals, one JSON file a script.

What is compared runs in turn within one round, in an order that rotates, so that a busy host slows all alike; a ratio is the median over
rounds of the ratio within a round. ``table.py`` collects the JSON files into one table.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).resolve().parent / "results"
sys.path[:0] = [str(ROOT / "src")]

Call = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table.

    ``id``: P1 to P10 or "" for a figure without a goal of the plan. ``value`` None: not measured, and ``note`` says why. ``way``: whether
    the value may be at most or must be at least ``goal``. ``limit``: what physics or the host allow, in words with its figure.
    """

    id: str
    what: str
    value: float | None
    unit: str
    way: Literal["at most", "at least"] = "at most"
    goal: float | None = None
    limit: str = ""
    note: str = ""
    spread: tuple[float, float] | None = None
    """Lower and upper quartile of the value."""

    @property
    def held(self) -> bool | None:
        """Whether the goal is reached; None where there is no goal or no value."""
        if self.value is None or self.goal is None:
            return None
        return self.value <= self.goal if self.way == "at most" else self.value >= self.goal


class Taken:
    """What was measured: for each name, wall clock seconds and CPU seconds (own and waited-for children) of each round."""

    def __init__(self) -> None:
        self.wall: dict[str, list[float]] = {}
        self.cpu: dict[str, list[float]] = {}

    def add(self, name: str, wall_s: float, cpu_s: float) -> None:
        """Note one call."""
        self.wall.setdefault(name, []).append(wall_s)
        self.cpu.setdefault(name, []).append(cpu_s)

    def median(self, name: str) -> float:
        """Median seconds of wall clock."""
        return statistics.median(self.wall[name])

    def ratios(self, name: str, rival: str, *, cpu: bool = False) -> list[float]:
        """``name`` over ``rival`` in each round."""
        rows = self.cpu if cpu else self.wall
        return [own / max(other, 1e-9) for own, other in zip(rows[name], rows[rival], strict=True)]

    def ratio(self, name: str, rival: str, *, cpu: bool = False) -> float:
        """The median over rounds of ``name`` over ``rival``."""
        return statistics.median(self.ratios(name, rival, cpu=cpu))

    def facts(self) -> dict[str, dict[str, Any]]:
        """Medians and quartiles in milliseconds, for the JSON file."""
        rows = {}
        for name, taken in self.wall.items():
            low, high = quartiles([1000 * value for value in taken])
            rows[name] = {
                "median_ms": round(1000 * statistics.median(taken), 3),
                "quartiles_ms": [round(low, 3), round(high, 3)],
                "least_ms": round(1000 * min(taken), 3),
                "cpu_median_ms": round(1000 * statistics.median(self.cpu[name]), 3),
                "rounds": len(taken),
            }
        return rows

    def show(self) -> None:
        """Print one line a name."""
        for name, row in self.facts().items():
            low, high = row["quartiles_ms"]
            print(f"{name:34} {row['median_ms']:10.2f} ms  ({low:.2f} to {high:.2f})   cpu {row['cpu_median_ms']:10.2f} ms")


def quartiles(values: list[float]) -> tuple[float, float]:
    """Lower and upper quartile."""
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def timed(call: Call) -> tuple[float, float]:
    """Seconds of wall clock, and of CPU in this process and its waited-for children, that a call takes."""
    used, began = _cpu(), time.perf_counter()
    call()
    took = time.perf_counter() - began
    return took, _cpu() - used


def _cpu() -> float:
    rows = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(row.ru_utime + row.ru_stime for row in rows)


def in_turn(calls: Mapping[str, Call], *, rounds: int, warm: int = 1, before: Callable[[str], object] | None = None) -> Taken:
    """Run every call once a round, in an order that rotates.

    Args:
        calls: name to call.
        rounds: how many rounds count.
        warm: how many rounds before them do not.
        before: is told the name before each call, outside of the time taken.
    """
    taken, names = Taken(), list(calls)
    for number in range(-warm, rounds):
        at = number % len(names)
        for name in (*names[at:], *names[:at]):
            if before is not None:
                before(name)
            wall, cpu = timed(calls[name])
            if number >= 0:
                taken.add(name, wall, cpu)
    return taken


@contextlib.contextmanager
def loaded(processes: int | None = None) -> Iterator[None]:
    """Keep that many cores busy (all by default) while the block runs."""
    count = processes or os.cpu_count() or 1
    jobs = [multiprocessing.get_context("spawn").Process(target=_spin, daemon=True) for _ in range(count)]
    for job in jobs:
        job.start()
    try:
        yield
    finally:
        for job in jobs:
            job.kill()
            job.join()


def _spin() -> None:
    while True:
        sum(range(100_000))


def machine() -> dict[str, Any]:
    """Facts of this host that a figure depends on; nothing that names it."""
    facts: dict[str, Any] = {
        "system": platform.system(),
        "release": platform.release().split("-")[0],
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
        "root": os.geteuid() == 0,
    }
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
        names = [row.partition(":")[2].strip() for row in text.splitlines() if row.startswith("model name")]
        facts["cpu"] = names[0] if names else ""
        memory = Path("/proc/meminfo").read_text("utf-8").split("\n", 1)[0].split()
        facts["memory_mb"] = int(memory[1]) // 1024
    return facts


def arguments(doc: str | None, *, rounds: int) -> argparse.ArgumentParser:
    """A parser with the options that all scripts have."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=rounds, help="rounds that count (default: %(default)s)")
    parser.add_argument("--loaded", action="store_true", help="keep all cores busy meanwhile")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the result goes (default: benchmarks/results/NAME.json)")
    parser.add_argument("--check", action="store_true", help="end with status 1 unless every goal is reached")
    return parser


def under_load(options: argparse.Namespace) -> contextlib.AbstractContextManager[None]:
    """Busy cores where the options ask for them."""
    return loaded() if options.loaded else contextlib.nullcontext()


def finish(options: argparse.Namespace, script: str, figures: list[Figure], taken: Taken | None = None, **facts: Any) -> int:
    """Print the figures, write the JSON file, and give the exit status.

    Args:
        options: from ``arguments``.
        script: the name of the script without folder and suffix (``__file__`` will do).
        figures: the lines for the table.
        taken: all times.
        facts: whatever else belongs to the result (sizes, versions).
    """
    if taken is not None:
        taken.show()
    for figure in figures:
        print(line(figure))
    stem = Path(script).stem + ("-loaded" if options.loaded else "")
    target = options.json or RESULTS / f"{stem}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    result = {
        "script": stem,
        "machine": machine(),
        "rounds": options.rounds,
        "loaded": options.loaded,
        "figures": [{**asdict(figure), "held": figure.held} for figure in figures],
        "times": {} if taken is None else taken.facts(),
        **facts,
    }
    target.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return int(options.check and any(figure.held is False for figure in figures))


def line(figure: Figure) -> str:
    """One figure in one line."""
    if figure.value is None:
        return f"{figure.id:4} {figure.what}: not measured ({figure.note})"
    goal = "" if figure.goal is None else f"   goal {figure.way} {figure.goal:g}: {'reached' if figure.held else 'NOT reached'}"
    spread = "" if figure.spread is None else f" ({figure.spread[0]:.3g} to {figure.spread[1]:.3g})"
    return f"{figure.id:4} {figure.what}: {figure.value:.3g} {figure.unit}{spread}{goal}"
