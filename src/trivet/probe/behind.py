"""How a forked copy of the server goes behind the wall of its job: what a tape does before exec, done by system calls of this process.

The steps are made by the host (``stage.wall_borrow``). Nothing of the scoring tree has been loaded when they are made.
"""

import base64
import ctypes
import fcntl
import os
import sys

NEWPID, NEWNS = 0x20000000, 0x20000
CAN = {"x86_64": True, "aarch64": True}.get(os.uname().machine, False) and sys.platform.startswith("linux")
_libc = ctypes.CDLL(None, use_errno=True) if CAN else None
_DUMPABLE = 4
_HIGH = 300


class Program(ctypes.Structure):
    """``struct sock_fprog``."""

    _fields_ = [("size", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def _checked(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def call(name, number, *args):
    """Make a system call; bytes are passed by address."""
    values = [ctypes.c_char_p(arg) if isinstance(arg, bytes) else ctypes.c_long(arg) for arg in args]
    return _checked(_libc.syscall(ctypes.c_long(number), *values), name)


def enter(fd, kind):
    """Enter the namespace behind ``fd``."""
    _checked(_libc.setns(fd, kind), "setns")


def prctl(option, value):
    """Call ``prctl`` with one value."""
    zero = ctypes.c_ulong(0)
    _checked(_libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero), f"prctl {option}")


def see_nothing_written():
    """Give this process a mount namespace of its own, in which all is read-only: what it lends its copies to has another one."""
    _checked(_libc.unshare(NEWNS), "unshare")
    _checked(_libc.mount(b"none", b"/", None, ctypes.c_ulong(16384 | 1 << 18), None), "mount")
    attributes = (ctypes.c_uint64 * 4)(1 | 2, 0, 0, 0)
    _checked(_libc.syscall(ctypes.c_long(442), ctypes.c_long(-100), b"/", ctypes.c_long(0x8000), attributes, ctypes.c_long(32)), "mount_setattr")


def refuse(code):
    """Load a filter of system calls (the bytes of a BPF program)."""
    buffer = ctypes.create_string_buffer(code, len(code))
    program = Program(len(code) // 8, ctypes.addressof(buffer))
    call_number = {"x86_64": 317, "aarch64": 277}[os.uname().machine]
    args = (ctypes.c_long(call_number), ctypes.c_long(1), ctypes.c_long(0), ctypes.byref(program))
    _checked(_libc.syscall(*args), "seccomp")


def settle(request, fds, status):
    """Become the run: descriptors, folder, environment, and every step of the wall; returns where ``status`` is now.

    ``request`` has ``env``, ``cwd``, ``keep`` (the numbers that the last of the descriptors must get), ``steps`` and ``one_cpu``; ``fds`` are
    null device, output, mount namespace, ruleset, the door of a memory group where ``door`` says so, and the ones to keep.
    """
    if max(request["keep"], default=0) >= _HIGH:
        raise OSError(0, "a descriptor is numbered too high")
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH) for fd in (status, *fds)]
    status, null, output, space, ruleset = high[:5]
    kept = high[6:] if request["door"] else high[5:]
    os.setsid()
    enter(space, NEWNS)
    os.umask(0o022)
    os.chdir(request["cwd"])
    if request["door"]:
        os.write(high[5], b"0")
    for wanted, fd in ((0, null), (1, output), (2, output)):
        os.dup2(fd, wanted)
    os.closerange(3, _HIGH)
    os.closerange(max(high) + 1, 4 * _HIGH)
    for fd, wanted in zip(kept, request["keep"]):
        os.dup2(fd, wanted)
    if request["one_cpu"] and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.environ.clear()
    os.environ.update(request["env"])
    for name, number, *args in request["steps"]:
        if name == "filter":
            prctl(_DUMPABLE, 1)  # as after exec: the change of the user has taken it away
            for fd in high[1:]:
                os.close(fd)
            refuse(base64.b64decode(args[0]))
        elif name == "restrict":
            call(name, number, ruleset, 0)
        else:
            call(name, number, *[base64.b64decode(arg) if isinstance(arg, str) else arg for arg in args])
    return status
