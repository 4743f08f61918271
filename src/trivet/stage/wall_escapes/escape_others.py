"""Attempts on other processes and on what was inherited."""

import ctypes
import errno
import fcntl
import os
import resource
import signal
import socket
import struct

from escape_base import FACTS, INHERITED, attempt, each, syscall


def process_of(who):
    if who.startswith("init"):
        return 1
    pid = FACTS["gate"] if who.startswith("gate") else FACTS["sibling"]
    if FACTS["own_pids"] and pid < 64:  # the same small number means another process here
        raise OSError(errno.ESRCH, "not in this namespace")
    return pid


@each("proc", tuple(who + "-" + what for who in ("gate", "sibling", "init") for what in ("environ", "mem", "fd", "maps", "cwd", "cmdline")))
def proc(name):
    what = name.partition("-")[2]
    base = "/proc/%d/" % process_of(name)
    if name in ("init-fd", "init-maps", "init-cwd") and FACTS["own_init"]:
        raise OSError(errno.ENOENT, "the first process is of the wall itself and holds nothing of the gate")
    if what == "fd":
        return repr([os.readlink(base + "fd/" + fd) for fd in os.listdir(base + "fd")])
    if what == "cwd":
        return os.readlink(base + "cwd")
    if what == "mem":
        os.close(os.open(base + "mem", os.O_RDWR))
        return "opened"
    with open(base + what, "rb") as file:
        got = file.read()
    if what == "maps" and (name != "init-maps" or FACTS["own_pids"]):
        return "read"
    if (FACTS["token"] if what == "environ" else FACTS["cmdline"]).encode() in got:
        return "read"
    raise OSError(errno.ENOENT, "nothing of the gate")


@attempt
def proc_search():
    """Look through all of /proc for an environment with the gate's token."""
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open("/proc/%s/environ" % name, "rb") as file:
                    if FACTS["token"].encode() in file.read():
                        return "found in " + name
            except OSError:
                continue
    raise OSError(errno.ENOENT, "not found")


@each("signal", ("gate", "sibling", "gate-pidfd", "sibling-pidfd", "gate-queue", "sibling-thread", "sibling-async"))
def send_signal(name):
    pid = process_of(name)
    if name.endswith("pidfd"):
        fd = os.pidfd_open(pid)
        signal.pidfd_send_signal(fd, 0)
    elif name.endswith("queue"):
        syscall("rt_sigqueueinfo", pid, 0, ctypes.create_string_buffer(struct.pack("iii", 0, 0, -1), 128))
    elif name.endswith("thread"):
        syscall("tgkill", pid, pid, 0)
    elif name.endswith("async"):
        left, right = socket.socketpair()
        fcntl.fcntl(left, fcntl.F_SETOWN, pid)
        fcntl.fcntl(left, 10, signal.SIGUSR1)  # F_SETSIG
        fcntl.fcntl(left, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        right.send(b"x")
        return "?"  # the caller looks whether the sibling lives
    else:
        os.kill(pid, 0)
    return "sent"


@each(
    "meddle",
    tuple(
        who + "-" + what
        for who in ("gate", "sibling")
        for what in ("ptrace", "vm-read", "getfd", "kcmp", "nice", "affinity", "limits", "io-priority", "scheduler")
    ),
)
def meddle(name):
    pid, what = process_of(name), name.partition("-")[2]
    if what == "ptrace":
        syscall("ptrace", 0x4206, pid, 0, 0)  # PTRACE_SEIZE
        return "seized"
    if what == "vm-read":
        got = ctypes.create_string_buffer(8)
        local = struct.pack("PN", ctypes.addressof(got), 8)
        remote = struct.pack("PN", FACTS["address"] if name.startswith("gate") else 0, 8)
        return "read %d" % syscall(
            "process_vm_readv", pid, ctypes.create_string_buffer(local), 1, ctypes.create_string_buffer(remote), 1, 0
        )
    if what == "getfd":
        return "got %d" % syscall("pidfd_getfd", os.pidfd_open(pid), 0, 0)
    if what == "kcmp":
        return "answered %d" % syscall("kcmp", os.getpid(), pid, 1, 0, 0)
    if what == "nice":
        os.setpriority(os.PRIO_PROCESS, pid, 19 if name.startswith("sibling") else os.getpriority(os.PRIO_PROCESS, pid))
    elif what == "affinity":
        os.sched_setaffinity(pid, os.sched_getaffinity(pid))
    elif what == "limits":
        resource.prlimit(pid, resource.RLIMIT_CORE, resource.prlimit(pid, resource.RLIMIT_CORE))
    elif what == "io-priority":
        syscall("ioprio_set", 1, pid, 0)
    else:
        os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
    return "done"


@each("inherited", ("descriptors", "environment", "terminal", "session", "secret-descriptor"))
def inherited(name):
    if name == "descriptors":
        if not INHERITED:
            raise OSError(errno.EBADF, "none")
        return repr(INHERITED)
    if name == "environment":
        foreign = set(os.environ) - {"HOME", "TMPDIR", "LC_CTYPE", "PWD", "PATH"}
        if not foreign:
            raise OSError(errno.ENOENT, "none")
        return repr(sorted(foreign))
    if name == "terminal":
        os.close(os.open("/dev/tty", os.O_RDWR))
    elif name == "session":
        if os.getsid(0) != FACTS["session"]:
            raise OSError(errno.EPERM, "own session")
    else:
        return repr(os.pread(FACTS["secret_fd"], 10, 0))
    return "there"
