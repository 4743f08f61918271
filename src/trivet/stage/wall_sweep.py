"""Ending everything: all processes of a run, and folders that must not outlive the gate."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from trivet.stage import wall_native as native

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


def descendants() -> list[int]:
    """All living descendants of this process, from /proc, parents before children; zombies are left out."""
    rows = _processes()
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


class Room:
    """A temporary folder that is removed with its block, and also if this process is killed in it. A context manager.

    A small forked process holds the read end of a pipe; when the other end closes, by whatever death, it removes the folder.

    Args:
        prefix: how its name begins.
        place: where to make it; None: the system's temporary folder.
    """

    def __init__(self, prefix: str, place: Path | None = None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        reader, self._life = os.pipe2(os.O_CLOEXEC)
        self._pid = os.fork()
        if self._pid == 0:
            _remove_when_left(self.path, reader)
        os.close(reader)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder and wait until it is gone."""
        if self._life >= 0:
            os.close(self._life)
            self._life = -1
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)


def _remove_when_left(path: Path, life: int) -> NoReturn:
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        native.close_all_but((life,))
        os.read(life, 1)
        deadline = time.monotonic() + _SWEEP_S
        while path.exists() and time.monotonic() < deadline:
            remove(path)
            if path.exists():
                time.sleep(0.01)  # a run that is just being ended may still write
    finally:
        os._exit(0)


def remove(path: Path) -> None:
    """Remove a folder and all below it, read-only folders included; what cannot be removed stays."""
    for folder, _, _ in os.walk(path):
        with contextlib.suppress(OSError):
            os.chmod(folder, 0o700)  # noqa: PTH101 - walk gives text, and no link
    shutil.rmtree(path, ignore_errors=True)
