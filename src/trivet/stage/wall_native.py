"""System calls that the standard library does not have, by ctypes: raw calls, prctl, mount, capabilities.

Everything that may run between fork and exec is bound at import, so that a forked child neither imports nor looks anything up.
All functions raise ``OSError`` with the kernel's error number.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from typing import Any

LINUX = sys.platform.startswith("linux")
MACHINE = platform.machine()

_libc: Any = ctypes.CDLL(None, use_errno=True) if LINUX else None
_long = ctypes.c_long

# prctl
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_CAPBSET_DROP = 1, 4, 8, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 36, 38, 47
# namespaces
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP = (
    0x20000,
    0x4000000,
    0x8000000,
    0x10000000,
    0x20000000,
    0x40000000,
    0x2000000,
)
# mounts
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
MNT_DETACH = 2
_SYS_MOUNT_SETATTR = 442
_SYS_CLOSE_RANGE = 436
_AT_RECURSIVE = 0x8000
_AT_FDCWD = -100
_CLOSE_RANGE_CLOEXEC = 4
CAP_DAC_READ_SEARCH = 2


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *args: int | bytes | ctypes.Array[ctypes.c_char] | None, what: str = "syscall") -> int:
    """Make a raw system call; integers are passed as C longs, bytes and buffers as pointers."""
    values = [_long(arg) if isinstance(arg, int) else arg for arg in args]
    return _checked(_libc.syscall(_long(number), *values), what)


def _typed(name: str, *kinds: Any) -> Any:
    """A function object of its own with declared types: several times quicker than converting each argument."""
    if _libc is None:
        return None
    found = _libc[name]
    found.argtypes, found.restype = kinds, _long
    return found


_add_rule = _typed("syscall", _long, ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)


def add_rule(number: int, ruleset: int, kind: int, attributes: bytes) -> None:
    """Add one rule to a Landlock ruleset."""
    _checked(_add_rule(number, ruleset, kind, attributes, 0), "landlock rule")


_python = ctypes.PyDLL(None) if LINUX else None


def fork_quickly() -> int:
    """Fork a process that has one thread, without the interpreter's hooks (locks, random seeds): only for what execs or exits."""
    assert _python is not None, "only on Linux"  # noqa: S101 - for the type checker
    return _checked(_python.fork(), "fork")


def prctl(option: int, *args: int) -> int:
    """Call ``prctl`` with up to four integers."""
    padded = [ctypes.c_ulong(arg) for arg in (*args, 0, 0, 0, 0)[:4]]
    return _checked(_libc.prctl(option, *padded), f"prctl {option}")


def unshare(flags: int) -> None:
    """Enter new namespaces (``CLONE_NEW*``)."""
    _checked(_libc.unshare(flags), "unshare")


def setns(fd: int, kind: int) -> None:
    """Enter the namespace behind ``fd``."""
    _checked(_libc.setns(fd, kind), "setns")


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Mount ``source`` on ``target``."""
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    _checked(_libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]), f"mount {target}")


def set_mount_flags(path: str, on: int = 0, off: int = 0, *, recursive: bool = False) -> None:
    """Set and clear ``MS_RDONLY`` / ``MS_NOSUID`` / ``MS_NODEV`` of the mount at ``path`` (``mount_setattr``: same bit values)."""
    attributes = struct.pack("QQQQ", on, off, 0, 0)
    how = _AT_RECURSIVE if recursive else 0
    syscall(_SYS_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), how, attributes, len(attributes), what=f"mount_setattr {path}")


def close_on_exec_from(first: int) -> None:
    """Mark every descriptor from ``first`` on as closed by exec."""
    syscall(_SYS_CLOSE_RANGE, first, 0x7FFFFFFF, _CLOSE_RANGE_CLOEXEC, what="close_range")


def close_all_but(keep: tuple[int, ...]) -> None:
    """Close every descriptor above 2 that is not in ``keep``."""
    low = 3
    for fd in sorted({fd for fd in keep if fd > 2}):  # noqa: PLR2004 - the standard three
        os.closerange(low, fd) if fd - low < 8 else syscall(_SYS_CLOSE_RANGE, low, fd - 1, 0, what="close_range")  # noqa: PLR2004
        low = fd + 1
    syscall(_SYS_CLOSE_RANGE, low, 0x7FFFFFFF, 0, what="close_range")


def ignore_signals(numbers: tuple[int, ...], *, ignore: bool) -> None:
    """Ignore the signals, or give them back their default; past the interpreter, whose wrappers cost more than the call."""
    for number in numbers:
        _libc.signal(number, ctypes.c_void_p(1 if ignore else 0))


_NO_SIGNALS = bytes(128)


def unblock_signals() -> None:
    """Empty the signal mask of this thread."""
    _libc.sigprocmask(2, _NO_SIGNALS, None)


def swap_mask(mask: bytes) -> bytes:
    """Set the signal mask of this thread (128 bytes) and give back what it was."""
    before = ctypes.create_string_buffer(128)
    _libc.sigprocmask(2, mask, before)
    return before.raw


def capability_words(capability: int | None) -> tuple[bytes, bytes]:
    """Header and data for ``capset`` that leave nothing but ``capability``."""
    mask = 0 if capability is None else 1 << capability
    low, high = mask & 0xFFFFFFFF, mask >> 32
    return struct.pack("Ii", 0x20080522, 0), struct.pack("IIIIII", low, low, low, high, high, high)


CAPSET = {"x86_64": 126, "aarch64": 91}.get(MACHINE, -1)


def keep_only_capability(capability: int | None) -> None:
    """Give up all capabilities of this process but ``capability`` (which is made inheritable over exec), for good."""
    syscall(CAPSET, *capability_words(capability), what="capset")
    prctl(PR_CAP_AMBIENT, 4, 0)  # clear all
    if capability is not None:
        prctl(PR_CAP_AMBIENT, 2, capability)  # raise


def has_capability(capability: int) -> bool:
    """Whether the effective set of this process holds ``capability``."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:  # noqa: PTH123 - no pathlib between fork and exec
            for line in file:
                if line.startswith("CapEff:"):
                    return bool(int(line.split()[1], 16) >> capability & 1)
    except OSError:
        pass
    return False
