"""What does one call across the split cost, and what does rpyc need for the same? Both in one run, interleaved; medians in microseconds.

    python benchmarks/bench_split.py [--rounds N] [--python EXE]

Prints one JSON object. rpyc is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path

SRC = Path(__file__).resolve().parent.parent / "src"
sys.path.insert(0, str(SRC))

SOURCE = """
class Box:
    def __init__(self, value):
        self.value = value
    def add(self, other):
        return self.value + other

def add(a, b):
    return a + b

def numbers(n):
    return list(range(n))

def apply(function, value):
    return function(value)

def total(amount, weights):
    return [amount * weight / sum(weights) for weight in weights]

def steps(n):
    for i in range(n):
        yield i
"""


def split_target(folder: Path):
    """The source as the judge sees it, and what ends it."""
    from trivet.probe import split_judge, wire  # noqa: PLC0415 - from this tree
    from trivet.stage.split import script  # noqa: PLC0415

    tree, scratch = folder / "app", folder / "srv"
    tree.mkdir()
    scratch.mkdir()
    (tree / "boxes.py").write_text(SOURCE)
    ours, theirs = socket.socketpair()
    program = os.memfd_create("site", 0)
    os.write(program, script(theirs.fileno(), tree, scratch, [str(tree)]))
    os.lseek(program, 0, os.SEEK_SET)
    argv = [sys.executable, "-s", "-c", f"exec(open({program}).read())"]
    child = subprocess.Popen(argv, pass_fds=(program, theirs.fileno()), cwd=scratch)
    theirs.close()
    job = wire.Job(root=str(folder / "judge"), files=[], paths=[], nonce="n", source_names=["boxes"], isolation="split")
    job.extra["split"] = {"tree": str(tree), "scratch": str(scratch), "shared": ""}
    plugin = split_judge.install(job, ours.detach())
    import boxes  # noqa: PLC0415 - served

    plugin.link.begin()

    def end():
        plugin.link.end()
        child.kill()
        child.wait()

    return boxes, end


def rpyc_target(folder: Path):
    """The same source behind rpyc's classic mode over a socket pair, and what ends it."""
    import rpyc  # noqa: PLC0415 - optional
    from rpyc.utils.classic import connect_stream  # noqa: PLC0415

    ours, theirs = socket.socketpair()
    code = (
        f"import socket, sys, rpyc; sys.path.insert(0, {str(folder / 'app')!r}); from rpyc.core import SlaveService;"
        f"s = rpyc.SocketStream(socket.socket(fileno={theirs.fileno()})); rpyc.utils.factory.connect_stream(s, SlaveService).serve_all()"
    )
    child = subprocess.Popen([sys.executable, "-c", code], pass_fds=(theirs.fileno(),))
    theirs.close()
    link = connect_stream(rpyc.SocketStream(ours))

    def end():
        link.close()
        child.kill()
        child.wait()

    return link.modules["boxes"], end


def kinds(module):
    """What is timed: name to (callable, repetitions it stands for)."""
    add, numbers, apply = module.add, module.numbers, module.apply
    box = module.Box(3)
    method, total = box.add, module.total
    amount, weights = Decimal("10.00"), [1, 2, 3]
    return {
        "call with integers": (lambda: add(1, 2), 1),
        "call with values": (lambda: [*total(amount, weights)], 1),
        "call by module attribute": (lambda: module.add(1, 2), 1),
        "method": (lambda: method(2), 1),
        "attribute": (lambda: box.value, 1),
        "list of 100": (lambda: list(numbers(100)), 1),
        "callback": (lambda: apply(lambda value: value + 1, 1), 1),
        "iterator step": (lambda: [*module.steps(20)], 20),
    }


def timed(function, times: int) -> float:
    """Seconds of one use, median of ``times``."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        function()
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--times", type=int, default=300)
    args = parser.parse_args()
    results: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "judge").mkdir()
        module, end = split_target(folder)
        targets, ends = {"split": kinds(module)}, [end]
        try:
            other, end = rpyc_target(folder)
            targets["rpyc"] = kinds(other)
            ends.append(end)
        except ImportError:
            pass
        for _ in range(args.rounds):
            for label, target in targets.items():
                for kind, (function, share) in target.items():
                    results.setdefault(kind, {}).setdefault(label, []).append(timed(function, args.times) / share * 1e6)
        for end in ends:
            end()
    rows = {
        kind: {label: {"min": round(min(found), 1), "median": round(statistics.median(found), 1)} for label, found in row.items()}
        for kind, row in results.items()
    }
    facts = {"python": platform.python_version(), "machine": platform.machine(), "cpus": os.cpu_count(), "load": os.getloadavg()[0]}
    print(json.dumps({"unit": "us", "rounds": args.rounds, "facts": facts, "results": rows}, indent=1))


if __name__ == "__main__":
    main()
