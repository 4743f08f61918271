"""Ending everything: all processes of a run, and folders that must not outlive the gate."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable

_SWEEP_S = 8.0


def descendants() -> list[int]:
    """All living descendants of this process, from /proc; zombies are left out."""
    children: dict[int, list[int]] = {}
    dead: set[int] = set()
    for name in os.listdir("/proc"):  # noqa: PTH208 - names, many of them
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            fd = os.open(f"/proc/{name}/stat", os.O_RDONLY | os.O_CLOEXEC)
            try:
                fields = os.read(fd, 1024).rpartition(b")")[2].split()
            finally:
                os.close(fd)
            children.setdefault(int(fields[1]), []).append(int(name))
            if fields[0] in (b"Z", b"X"):
                dead.add(int(name))
    found: list[int] = []
    stack = [os.getpid()]
    while stack:
        for pid in children.get(stack.pop(), ()):
            found.append(pid)
            stack.append(pid)
    return [pid for pid in found if pid not in dead]


def kill_all(reap: Callable[[], None], *, namespace: bool) -> None:
    """Kill and reap all descendants of this process (a subreaper, or the first process of its pid namespace).

    In a namespace one call reaches all at once. Elsewhere they are stopped first, so that none can fork away from the sweep, and the
    sweep is repeated until nothing is left.
    """
    deadline = time.monotonic() + _SWEEP_S
    while time.monotonic() < deadline:
        if namespace:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        else:
            living = descendants()
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in living:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, number)
        reap()
        try:
            if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
                time.sleep(0.0005)
        except ChildProcessError:
            return
