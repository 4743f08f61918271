"""chmod, chown and utime for a run that owns more files than its scratch folder (the bare form as an ordinary user).

Landlock does not see these calls, and a filter cannot see paths. So the filter hands them to the supervisor, which opens the file itself,
looks where it is, and makes the call in the run's place if that is below a folder the run may write. Nothing is decided on memory that
the run could change meanwhile: the opened file is looked at, and the opened file is changed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import time

from trivet.stage import wall_native as native
from trivet.stage.wall_syscalls import NUMBERS

CALLS = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown", "fchownat"),
    *("utime", "utimes", "futimesat", "utimensat"),
)
_RECEIVE, _SEND, _VALID = 0xC0502100, 0xC0182101, 0x40082102
_NOTICE = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_HERE = -100
_NOFOLLOW, _EMPTY = 0x100, 0x1000
_NOW, _OMIT = (1 << 30) - 1, (1 << 30) - 2
_PATH_MAX = 4096


class Deputy:
    """Makes the calls of ``CALLS`` for a run, within ``folders``; ``fd`` is the filter's listener."""

    def __init__(self, fd: int, folders: tuple[str, ...]) -> None:
        self.fd = fd
        self._folders = tuple(os.path.realpath(folder) for folder in folders)
        column = 0 if native.MACHINE == "x86_64" else 1
        self._names = {NUMBERS[name][column]: name for name in CALLS}

    def serve(self) -> None:
        """Take one call and answer it; whatever goes wrong is answered with EPERM."""
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(self.fd, _RECEIVE, notice)
        except OSError:  # the caller was killed meanwhile
            return
        number, pid, _, call, _, _, *args = _NOTICE.unpack(notice)
        try:
            self._make(number, pid, self._names[call], args)
            error = 0
        except OSError as trouble:
            error = -(trouble.errno or errno.EPERM)
        except (KeyError, ValueError):
            error = -errno.EPERM
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.fd, _SEND, _ANSWER.pack(number, 0, error, 0))

    def _make(self, number: int, pid: int, name: str, args: list[int]) -> None:
        first = struct.unpack("=i", struct.pack("=I", args[0] & 0xFFFFFFFF))[0]
        at = name.endswith(("at", "at2"))
        by_fd = name in ("fchmod", "fchown")
        where, address = (first, args[1]) if at else (first, 0) if by_fd else (_HERE, args[0])
        rest = args[2:] if at else args[1:]
        flags = {"fchownat": args[4], "utimensat": args[3], "fchmodat2": args[3]}.get(name, 0)
        path = "" if by_fd or not address else _text(pid, address)
        if not path and not by_fd and not (name == "utimensat" and not address) and not flags & _EMPTY:
            raise FileNotFoundError(errno.ENOENT, "no path")
        fd = _open(pid, where, path, follow=not (flags & _NOFOLLOW or name == "lchown"))
        try:
            fcntl.ioctl(self.fd, _VALID, struct.pack("=Q", number))  # else the memory read was another process's
            place = os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 - text all along
            if not any(place == folder or place.startswith(folder + "/") for folder in self._folders):
                raise PermissionError(errno.EPERM, "not in the scratch folder")
            _change(name, f"/proc/self/fd/{fd}", pid, rest)
        finally:
            os.close(fd)


def _change(name: str, opened: str, pid: int, rest: list[int]) -> None:
    if "chmod" in name:
        os.chmod(opened, rest[0] & 0o7777)  # noqa: PTH101 - text all along
    elif "chown" in name:
        owner, group = (struct.unpack("=i", struct.pack("=I", value & 0xFFFFFFFF))[0] for value in rest[:2])
        os.chown(opened, owner, group)
    elif not rest[0]:
        os.utime(opened)
    else:
        os.utime(opened, ns=_times(name, opened, pid, rest[0]))


def _times(name: str, opened: str, pid: int, address: int) -> tuple[int, int]:
    if name == "utime":
        seconds = struct.unpack("=qq", _memory(pid, address, 16))
        return seconds[0] * 10**9, seconds[1] * 10**9
    first, parts, second, more = struct.unpack("=qqqq", _memory(pid, address, 32))
    if name != "utimensat":
        return first * 10**9 + parts * 1000, second * 10**9 + more * 1000
    status = os.stat(opened)  # noqa: PTH116 - text all along
    now = time.time_ns()
    kept = (status.st_atime_ns, status.st_mtime_ns)
    found = []
    for whole, part, old in ((first, parts, kept[0]), (second, more, kept[1])):
        found.append(now if part == _NOW else old if part == _OMIT else whole * 10**9 + part)
    return found[0], found[1]


def _open(pid: int, where: int, path: str, *, follow: bool) -> int:
    flags = os.O_PATH | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    base = f"/proc/{pid}/cwd" if where == _HERE else f"/proc/{pid}/fd/{where}"
    if not path:
        return os.open(base, os.O_PATH | os.O_CLOEXEC)
    own = f"/proc/{pid}/"  # what the run calls its own is not the supervisor's
    for name in ("/proc/self/", f"/proc/{pid}/task/{pid}/", "/proc/thread-self/"):
        if path.startswith(name):
            path = own + path[len(name) :]
    if path.startswith("/"):
        return os.open(path, flags)
    folder = os.open(base, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return os.open(path, flags, dir_fd=folder)
    finally:
        os.close(folder)


def _memory(pid: int, address: int, length: int) -> bytes:
    fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        got = os.pread(fd, length, address)
    finally:
        os.close(fd)
    if len(got) < length:
        raise OSError(errno.EFAULT, "not that much memory there")
    return got


def _text(pid: int, address: int) -> str:
    """A path in the memory of the run: up to its NUL, read page by page."""
    found = b""
    while len(found) < _PATH_MAX:
        found += _memory(pid, address + len(found), 4096 - (address + len(found)) % 4096)
        end = found.find(b"\0")
        if end >= 0:
            return os.fsdecode(found[:end])
    raise OSError(errno.ENAMETOOLONG, "path")
