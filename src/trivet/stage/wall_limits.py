"""Limits of a run: rlimits, an unused uid (process limits do not bind root), a memory and process group of the kernel, scratch usage."""

from __future__ import annotations

import contextlib
import functools
import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

from trivet.stage import wall_native as native

_SPARE_UIDS = 1_879_048_192
_SPARE_COUNT = 1 << 22
_CGROUPS = Path("/sys/fs/cgroup")
_TREE_ENTRIES = 200_000
_STALE_S = 60


@dataclass(frozen=True)
class Limits:
    """What a run may use. Sizes in bytes; ``cpu_s`` seconds of processor time of each process (None: no limit).

    ``memory_b``: data memory of each process, and of the whole run where a cgroup can be had. ``processes``: processes and threads.
    ``output_b``: standard output and error together. ``scratch_b``: all that the run writes. ``file_b``: one file (None: as ``scratch_b``).
    """

    memory_b: int = 2_147_483_648
    processes: int = 64
    output_b: int = 10_485_760
    scratch_b: int = 1_073_741_824
    open_files: int = 256
    file_b: int | None = None
    cpu_s: int | None = None


def rlimits(limits: Limits, *, processes: int, grouped: bool = False) -> tuple[tuple[int, int], ...]:
    """The rlimits of a run: (which, value), within what this process may set.

    Where a group bounds the memory of the whole run (``grouped``), each process may ask for a quarter more: then the group ends the run,
    which is told from a test that fails with MemoryError.
    """
    wanted = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_DATA, limits.memory_b + (limits.memory_b // 4 if grouped else 0)),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.scratch_b if limits.file_b is None else limits.file_b),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_NPROC, processes),
    ]
    if limits.cpu_s is not None:
        wanted.append((resource.RLIMIT_CPU, limits.cpu_s))
    found = []
    for kind, value in wanted:
        hard = resource.getrlimit(kind)[1]
        found.append((kind, value if hard == resource.RLIM_INFINITY else min(value, hard)))
    return tuple(found)


def set_rlimits(rows: tuple[tuple[int, int], ...]) -> None:
    """Set the limits of this process, hard and soft; runs between fork and exec."""
    for kind, value in rows:
        resource.setrlimit(kind, (value, value))


def spare_uid() -> int:
    """A user id that nobody uses, for a run started as root; from the top of what this user namespace maps."""
    first, count = _mapped()
    salt = int.from_bytes(os.urandom(4), "big")
    if first <= _SPARE_UIDS and first + count >= _SPARE_UIDS + _SPARE_COUNT:
        return _SPARE_UIDS + salt % _SPARE_COUNT
    top = min(first + count, 65534)  # a container with a small map: below nobody
    return top - 1 - salt % min(4000, max(1, top - first - 1000))


@functools.cache
def _mapped() -> tuple[int, int]:
    """The highest range of user ids that exist here: its first and how many."""
    try:
        rows = [tuple(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text("ascii").splitlines()]
    except (OSError, ValueError):
        return (0, 65536)
    return max(((inside, length) for inside, _, length in rows), key=sum, default=(0, 65536))


def tasks_of(uid: int) -> int:
    """How many processes and threads of ``uid`` live, as the kernel counts them for RLIMIT_NPROC (own pid namespace only)."""
    count = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if folder.stat().st_uid == uid:
                    count += sum(1 for _ in (folder / "task").iterdir())
    return count


def tree_usage(folders: tuple[str, ...], *, most: int) -> int:
    """Bytes on disk below the folders, links not followed; stops counting above ``most``. Too many entries count as too many bytes.

    Walks by descriptors, so that neither long paths nor moved folders lead it astray.
    """
    total, entries = 0, 0
    stack: list[int] = []
    try:
        for folder in folders:
            with contextlib.suppress(OSError):
                stack.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        while stack:
            fd = stack.pop()
            try:
                with os.scandir(fd) as rows:
                    for row in rows:
                        entries += 1
                        with contextlib.suppress(OSError):
                            total += row.stat(follow_symlinks=False).st_blocks * 512
                            if row.is_dir(follow_symlinks=False) and len(stack) < 200:  # noqa: PLR2004 - descriptors held at once
                                stack.append(os.open(row.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd))
                        if total > most or entries > _TREE_ENTRIES:
                            return max(total, most + 1)
            except OSError:
                continue
            finally:
                os.close(fd)
    finally:
        for fd in stack:
            os.close(fd)
    return total


@dataclass
class Group:
    """A memory cgroup of one run. It is used through descriptors, which see past the read-only mounts of the run's namespace."""

    version: int
    name: str
    parent: int
    folder: int

    def door(self) -> int:
        """A descriptor: what writes "0" to it joins the group."""
        return os.open("tasks" if self.version == 1 else "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC, dir_fd=self.folder)

    def join(self) -> None:
        """Move this process into the group; runs in the child."""
        # One thread that moves itself: the kernel need not stop all others, which costs a grace period (many ms).
        self._write("tasks" if self.version == 1 else "cgroup.procs", "0")

    def limit(self, limits: Limits) -> None:
        """Set the bounds; raises OSError if the kernel does not take them."""
        if self.version == 1:
            self._write("memory.limit_in_bytes", str(limits.memory_b))
            with contextlib.suppress(OSError):
                self._write("memory.memsw.limit_in_bytes", str(limits.memory_b))
            return
        self._write("memory.max", str(limits.memory_b))
        with contextlib.suppress(OSError):
            self._write("memory.swap.max", "0")

    def breach(self) -> str:
        """Which limit of the group was hit so far: "memory" or ""."""
        with contextlib.suppress(OSError):
            fd = os.open("memory.oom_control" if self.version == 1 else "memory.events", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.folder)
            try:
                rows = dict(line.split() for line in os.read(fd, 4096).decode("ascii").splitlines())
            finally:
                os.close(fd)
            if rows.get("oom_kill", "0") != "0":
                return "memory"
        return ""

    def remove(self) -> None:
        """Remove the group; all its processes must be gone."""
        with contextlib.suppress(OSError):
            os.rmdir(self.name, dir_fd=self.parent)

    def close(self) -> None:
        """Let go of the descriptors (this process's copies)."""
        os.close(self.folder)
        os.close(self.parent)

    def _write(self, name: str, text: str) -> None:
        fd = os.open(name, os.O_WRONLY | os.O_CLOEXEC, dir_fd=self.folder)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)


def make_group(limits: Limits) -> Group | None:
    """Make a cgroup for one run, or None where none can be had (no privilege, nothing delegated)."""
    found = _group_parent(os.geteuid())
    name = f"trivet-{os.getpid()}-{os.urandom(6).hex()}"
    if found is None:
        return None
    version, path = found
    try:
        parent = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
        group = Group(version, name, parent, os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=parent))
    except OSError:
        os.close(parent)
        return None
    try:
        group.limit(limits)
    except OSError:
        group.remove()
        group.close()
        return None
    return group


def group_version() -> int:
    """Which cgroup version bounds the memory of a whole run here: 1, 2, or 0 (none is writable)."""
    found = _group_parent(os.geteuid())
    return 0 if found is None else found[0]


@functools.lru_cache(maxsize=4)
def _group_parent(_user: int) -> tuple[int, Path] | None:
    found = _find_group_parent()
    if found is not None:
        _remove_stale_groups(found[1])
    return found


def _remove_stale_groups(parent: Path) -> None:
    """Remove what is left of runs whose supervisor was killed with its whole namespace; groups in use refuse to go."""
    newest = time.time_ns() - _STALE_S * 10**9
    for folder in parent.glob("trivet-*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_mtime_ns < newest:
                folder.rmdir()


def _find_group_parent() -> tuple[int, Path] | None:
    memory = _CGROUPS / "memory"
    if (memory / "memory.limit_in_bytes").exists():
        return (1, memory) if os.access(memory, os.W_OK) else None
    try:
        rows = Path("/proc/self/cgroup").read_text("ascii").splitlines()
        own = next(row[3:] for row in rows if row.startswith("0::"))
        parent = _CGROUPS / own.lstrip("/")
        if "memory" in (parent / "cgroup.subtree_control").read_text("ascii").split():
            return (2, parent) if os.access(parent, os.W_OK) else None
    except (OSError, StopIteration):
        pass
    return None


def prefer_to_be_killed(who: int | str = "self") -> None:
    """Tell the kernel's memory killer that this process (or ``who``) goes before the gate."""
    with contextlib.suppress(OSError):
        fd = os.open(f"/proc/{who}/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, b"900")
        finally:
            os.close(fd)


def drop_to(uid: int) -> None:
    """Become ``uid``, in no group but its own, with the one capability that lets it read what Landlock grants.

    The bounding set is left: with no_new_privs no exec can bring a capability back.
    """
    native.prctl(native.PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    native.keep_only_capability(native.CAP_DAC_READ_SEARCH)


def give(folder: Path, uid: int) -> None:
    """Hand a scratch folder, with what is in it, to the run's uid; links are not followed."""
    os.chown(folder, uid, uid)
    for _, folders, files, fd in os.fwalk(folder, follow_symlinks=False):
        for name in (*folders, *files):
            os.chown(name, uid, uid, dir_fd=fd, follow_symlinks=False)
