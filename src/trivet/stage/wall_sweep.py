"""Ending everything: all processes of a run, and folders that must not outlive the gate."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable

_SWEEP_S = 8.0
_PAGE_B = os.sysconf("SC_PAGE_SIZE")


def _processes() -> dict[int, tuple[int, bytes]]:
    """Every process that /proc shows: pid to (parent, state letter)."""
    found: dict[int, tuple[int, bytes]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - names, many of them
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            fd = os.open(f"/proc/{name}/stat", os.O_RDONLY | os.O_CLOEXEC)
            try:
                fields = os.read(fd, 1024).rpartition(b")")[2].split()
            finally:
                os.close(fd)
            found[int(name)] = (int(fields[1]), fields[0])
    return found


def descendants(*, all_here: bool = False) -> list[int]:
    """All living descendants of this process, from /proc, parents before children; zombies are left out.

    ``all_here``: this is the first process of a pid namespace, and what came in from outside (its parent is unseen) counts as its child.
    """
    rows = _processes()
    if all_here:
        rows = {pid: (os.getpid() if parent == 0 and pid != os.getpid() else parent, state) for pid, (parent, state) in rows.items()}
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in rows.items():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    queue = [os.getpid()]
    while queue:
        below = children.get(queue.pop(0), [])
        found += below
        queue += below
    return [pid for pid in found if rows[pid][1] not in (b"Z", b"X")]


def is_stopped(pid: int, below: int = 0) -> bool:
    """Whether a process is stopped (SIGSTOP); ``below``: how many only children further down the one is that matters."""
    rows = _processes() if below else {}
    for _ in range(below):
        pid = next((child for child, (parent, _) in rows.items() if parent == pid), -1)
    with contextlib.suppress(OSError):
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(fd, 512).rpartition(b")")[2].split()[:1] == [b"T"]
        finally:
            os.close(fd)
    return False


def count_tasks(pids: list[int]) -> int:
    """How many processes and threads the living among ``pids`` have together."""
    count = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            count += len(os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208 - counted, not used
    return count


def uses_more_memory(pids: list[int], most: int) -> bool:
    """Whether the processes hold more than ``most`` bytes of memory of their own together; what they share is counted once."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123 - no pathlib in the supervisor's loop
                fields = file.read().split()
            total += (int(fields[1]) - int(fields[2])) * _PAGE_B
    if total <= most:
        return False
    total = 0
    for pid in pids:  # slower and exact: pages shared after a fork are divided by those who share them
        with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/smaps_rollup", "rb") as file:  # noqa: PTH123
            total += sum(int(line.split()[1]) for line in file if line.startswith(b"Pss_Anon:")) * 1024
    return total > most


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
