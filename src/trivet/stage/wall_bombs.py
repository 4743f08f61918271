"""The bombs: runs that try to exhaust the host or to outlive their end, their limits, and what counts as held."""

from __future__ import annotations

import dataclasses
import shutil
import time
from dataclasses import dataclass

from trivet.stage.wall import Child, Limits, Wall
from trivet.stage.wall_probes import Attempt, Ground

_SMALL = Limits(processes=24, memory_b=512 << 20, scratch_b=16 << 20, output_b=1 << 20, open_files=128)


@dataclass(frozen=True)
class Bomb:
    """A program of ``wall_escapes/bombs.py``.

    ``limits``: what it runs under. ``wait_s``: after that the caller ends it. ``breach``: the limit that must be named, one of these
    ("" = none); empty: it does not matter. ``most``: the highest count that it may print; None: it prints none.
    """

    name: str
    limits: Limits = _SMALL
    wait_s: float = 20.0
    breach: tuple[str, ...] = ()
    most: int | None = None


BOMBS = (
    Bomb("daemon"),
    Bomb("sessions"),
    Bomb("orphan-of-orphans"),
    Bomb("thread-left", wait_s=0.5),
    Bomb("exit-hook", wait_s=0.5),
    Bomb("ignore-signals", wait_s=0.5),
    Bomb("stop-self", breach=("stopped",)),
    Bomb("kill-self"),
    Bomb("kill-parent"),
    Bomb("kill-all"),
    Bomb("close-everything"),
    Bomb("fork", breach=("", "processes"), most=30),
    Bomb("threads", breach=("", "processes"), most=30),
    Bomb("memory", breach=("", "memory")),
    Bomb("memory-of-tree", limits=dataclasses.replace(_SMALL, memory_b=160 << 20), breach=("memory",), most=3),
    Bomb("descriptors", most=128),
    Bomb("one-file", breach=("", "scratch"), most=17),
    Bomb("many-files", breach=("", "scratch"), most=60),
    Bomb("log", breach=("output",)),
    Bomb("processor", limits=dataclasses.replace(_SMALL, cpu_s=1), wait_s=8.0),
    Bomb("regular-expression", wait_s=0.5),
)
"""Each ends within seconds, whatever the wall does."""


def explode(wall: Wall, laid: Ground, bomb: Bomb) -> Attempt:
    """Run one bomb; held if it stayed within its limits, was ended, and nothing of it lives."""
    shutil.rmtree(laid.scratch)
    laid.scratch.mkdir()
    argv = [str(laid.python), "-s", "-B", str(laid.guest / "bombs.py"), bomb.name, laid.nonce]
    began = time.monotonic()
    with wall.start(argv, cwd=laid.scratch, env=laid.environment(), reach=laid.reach(), limits=bomb.limits) as child:
        child.wait(bomb.wait_s)
    took = time.monotonic() - began
    trouble = _trouble(bomb, child, laid, took)
    output = child.output[-120:].decode("utf-8", "replace").strip()
    detail = f"status {child.returncode}, breach {child.breach or 'none'}, {took:.1f} s, {output}"
    return Attempt(bomb.name, "open" if trouble else "held", f"{trouble}; {detail}" if trouble else detail)


def _trouble(bomb: Bomb, child: Child, laid: Ground, took: float) -> str:
    living = laid.survivors()
    counts = [int(line.split()[1]) for line in child.output[:4096].splitlines() if line.startswith(b"count ")]
    troubles = {
        f"still alive: {living}": bool(living),
        "the neighbour was killed": laid.sibling.poll() is not None,
        "it did not start": b"Traceback" in child.output,
        "it got through": b"escaped" in child.output,
        f"{len(child.output)} bytes of output": len(child.output) > bomb.limits.output_b,
        "the limit was not seen": bool(bomb.breach) and child.breach not in bomb.breach,
        f"it made {counts}, more than {bomb.most}": bomb.most is not None and max(counts, default=0) > bomb.most,
        "it did not count": bomb.most is not None and not counts and not child.breach and child.returncode == 0,
        "it took too long to end": took > bomb.wait_s + 5,
    }
    return "; ".join(text for text, happened in troubles.items() if happened)
