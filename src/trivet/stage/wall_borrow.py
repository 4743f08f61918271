"""The supervisor's side of a loan: a copy of the server becomes the run, in the supervisor's namespaces and behind the same wall.

The copy is no child of the supervisor: it is forked by the server into the supervisor's pid namespace. So it ends with the namespace, is
seen in the supervisor's /proc, and the server tells how it ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time
from dataclasses import dataclass

from trivet.stage.wall_child import Launch
from trivet.stage.wall_tape import Recipe

_PATIENCE_S = 30.0


@dataclass(frozen=True)
class Lent:
    """A copy that is behind the wall. ``pid``: in the supervisor's namespace. ``fd``: where the server will tell how it ended."""

    pid: int
    fd: int


def borrow(plan: Launch, null: int, output: int) -> Lent | None:
    """Ask the lender for a copy and wait until it is behind the wall; None where it cannot be had (the caller starts a fresh process)."""
    assert plan.lender is not None, "the caller looks"  # noqa: S101 - for the type checker
    assert plan.tape is not None, "the caller looks"  # noqa: S101 - for the type checker
    recipe = Recipe()
    plan.tape(recipe)
    ruleset = plan.ruleset
    door = -1 if plan.group is None else plan.group.door()
    ours, theirs = socket.socketpair()
    told, teller = ours.detach(), theirs.detach()
    spaces = [os.open(f"/proc/self/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in ("pid", "mnt")]
    request = {
        "do": "lend",
        "env": plan.env,
        "cwd": str(plan.cwd),
        "door": door >= 0,
        "keep": list(plan.pass_fds),
        "steps": recipe.steps,
        "one_cpu": plan.lender.one_cpu,
    }
    fds = [teller, spaces[0], null, output, spaces[1], ruleset, *([door] if door >= 0 else []), *plan.pass_fds]
    lender = socket.socket(fileno=os.dup(plan.lender.fd))
    try:
        socket.send_fds(lender, [json.dumps(request).encode("ascii")], fds)
    except OSError:
        os.close(told)
        return None
    finally:
        lender.close()
        for fd in (teller, *spaces, *([door] if door >= 0 else [])):
            os.close(fd)
    word, _, text = _line(told, _PATIENCE_S).partition(" ")
    with contextlib.suppress(OSError):
        if word == "pid" and text.isdigit() and os.write(told, b"+"):
            return Lent(int(text), told)
    os.close(told)
    return None


def ended(fd: int, patience_s: float) -> int:
    """How a copy ended: its exit status, or minus the signal; as if killed where the server does not tell in time."""
    word, _, text = _line(fd, patience_s).partition(" ")
    return int(text) if word == "exit" and text.removeprefix("-").isdigit() else -signal.SIGKILL


def _line(fd: int, patience_s: float) -> str:
    """One line from a socket, or "" when none comes in time."""
    deadline = time.monotonic() + patience_s
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    found = b""
    while not found.endswith(b"\n") and poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
        got = os.read(fd, 1)  # to the byte: the next line is another's to read
        if not got:
            break
        found += got
    return found.decode("utf-8", "replace").strip()
