"""The seccomp filter: a small BPF program, built in the parent as bytes and loaded in the child just before exec.

Landlock guards files; this guards the calls that Landlock does not see: sockets, other processes, namespaces and mounts, keys, kernel
interfaces, System V memory. It denies by name and lets the rest through, except that calls newer than the table are unknown (ENOSYS) and
that a foreign architecture (32-bit calls, x32) ends the process.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from dataclasses import dataclass

from trivet.errors import SandboxError
from trivet.stage import wall_native as native
from trivet.stage.wall_syscalls import NEWEST, NUMBERS

_COLUMN = {"x86_64": 0, "aarch64": 1}
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_X32_BIT = 0x40000000

_LOAD, _JEQ, _JGE, _JSET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO, _ASK = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000
_NR, _ARCH = 0, 4

AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
_NAMESPACES = 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C

_WORDS = """
# other processes
ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_getfd move_pages migrate_pages ioprio_set
# mounts, namespaces, file handles
mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr fanotify_init fanotify_mark
unshare setns name_to_handle_at open_by_handle_at
# keys, kernel interfaces
keyctl add_key request_key bpf perf_event_open io_uring_setup io_uring_enter io_uring_register userfaultfd memfd_secret
kexec_load kexec_file_load init_module finit_module delete_module create_module query_module get_kernel_syms
# System V and POSIX queues: memory and messages that outlive the run
shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl
mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
# the host
quotactl quotactl_fd swapon swapoff reboot acct sethostname setdomainname syslog vhangup settimeofday clock_settime adjtimex
clock_adjtime iopl ioperm uselib _sysctl lookup_dcookie nfsservctl ustat sysfs modify_ldt afs_syscall tuxcall security putpmsg
getpmsg vserver epoll_ctl_old epoll_wait_old
"""
DENIED = tuple(word for line in _WORDS.splitlines() if not line.startswith("#") for word in line.split())
"""Calls that are denied whatever their arguments."""

ATTRIBUTES = ("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr")
"""Extended attributes, which Landlock does not see; harmless where the rest of the disk is read-only."""
ASK = -1
"""As the errno of a rule: the call is handed to the supervisor (``wall_notify``)."""


@dataclass(frozen=True)
class Rule:
    """One rule of the filter: what happens to a call, by name.

    ``argument``: (index, "eq" | "ne" | "bits" | "families", value) on the low 32 bits, or None: whatever its arguments.
    ``errno``: what the call answers.
    """

    name: str
    errno: int = errno.EPERM
    argument: tuple[int, str, int] | None = None


def rules(*, loopback: bool = False, without: frozenset[str] = frozenset()) -> tuple[Rule, ...]:
    """The rules of the filter.

    Args:
        loopback: the run has its own loopback: Unix and internet sockets are allowed.
        without: names whose rules are left out (the planted holes of the test suite).
    """
    found = [Rule(name) for name in DENIED]
    found.append(Rule("clone3", errno.ENOSYS))  # its flags are behind a pointer; the C library falls back to clone
    found.append(Rule("clone", argument=(0, "bits", _NAMESPACES)))
    found += [Rule("ioctl", argument=(1, "eq", command)) for command in (_TIOCSTI, _TIOCLINUX)]
    of_self = ("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr")
    found += [Rule(name, argument=(0, "ne", 0)) for name in of_self]
    found += [Rule("setpriority", argument=(0, "ne", 0)), Rule("setpriority", argument=(1, "ne", 0))]
    found.append(Rule("personality", argument=(0, "ne", 0)))
    found.append(Rule("socketpair", argument=(0, "ne", AF_UNIX)))
    if loopback:
        found.append(Rule("socket", argument=(0, "families", 0)))
    else:
        found += [Rule(name) for name in ("socket", "connect", "bind", "listen", "accept", "accept4")]
    return tuple(rule for rule in found if rule.name not in without)


def program(wanted: tuple[Rule, ...]) -> bytes:
    """The BPF program of the rules for this machine's architecture, as an array of ``struct sock_filter``."""
    column = _COLUMN.get(native.MACHINE)
    if column is None:
        hint = "run on x86_64 or aarch64, or have an owner set score.wall on base"
        raise SandboxError(f"no system call table for {native.MACHINE}", hint=hint)
    code = [_op(_LOAD, _ARCH), _op(_JEQ, _AUDIT_ARCH[native.MACHINE], 1, 0), _op(_RETURN, _KILL), _op(_LOAD, _NR)]
    code += [_op(_JGE, _X32_BIT, 0, 1), _op(_RETURN, _KILL), _op(_JGE, NEWEST + 1, 0, 1), _op(_RETURN, _ERRNO | errno.ENOSYS)]
    for rule in wanted:
        number = NUMBERS[rule.name][column]
        if number is not None:
            block = _block(rule)
            code += [_op(_JEQ, number, 0, len(block)), *block]
    code.append(_op(_RETURN, _ALLOW))
    return b"".join(code)


def _block(rule: Rule) -> list[bytes]:
    deny = _op(_RETURN, _ASK if rule.errno == ASK else _ERRNO | rule.errno)
    if rule.argument is None:
        return [deny]
    index, how, value = rule.argument
    load, reload = _op(_LOAD, 16 + 8 * index), _op(_LOAD, _NR)
    if how == "families":
        return [load, _op(_JEQ, AF_UNIX, 3, 0), _op(_JEQ, AF_INET, 2, 0), _op(_JEQ, AF_INET6, 1, 0), deny, reload]
    if how == "bits":
        return [load, _op(_JSET, value, 0, 1), deny, reload]
    if how == "eq":
        return [load, _op(_JEQ, value, 0, 1), deny, reload]
    return [load, _op(_JEQ, value, 1, 0), deny, reload]


def _op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


class Filter:
    """A filter ready to be loaded: everything is laid out before the fork."""

    def __init__(self, code: bytes) -> None:
        self.code = code
        self._buffer = ctypes.create_string_buffer(code, len(code))
        self.header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(self._buffer))

    def load(self, *, listen: bool = False) -> int:
        """Filter this process and its children, for good; needs no_new_privs.

        With ``listen`` the result is a descriptor on which the calls of ``ASK`` rules are heard.
        """
        return native.syscall(_SECCOMP[native.MACHINE], 1, 8 if listen else 0, self.header, what="seccomp")
