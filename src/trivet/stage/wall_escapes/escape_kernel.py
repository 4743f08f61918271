"""Attempts on the network and on the kernel: sockets, forbidden calls, namespaces, mounts, privileges."""

import ctypes
import errno
import fcntl
import mmap
import os
import resource
import signal
import socket
import struct
import subprocess
import sys

from escape_base import REFUSED, FACTS, X86, each, in_fork, libc, syscall

_FAMILIES = {"unix": 1, "inet": 2, "ax25": 3, "ipx": 4, "appletalk": 5, "inet6": 10, "netlink": 16, "packet": 17, "rds": 21, "can": 29, "tipc": 30,
             "bluetooth": 31, "alg": 38, "vsock": 40, "kcm": 41, "qipcrtr": 42, "smc": 43, "xdp": 44}  # fmt: skip


@each("socket", [f"{family}-{kind}" for family in _FAMILIES for kind in ("stream", "datagram", "raw", "seqpacket")])
def make_socket(name):
    family, kind = name.split("-")
    kinds = {"stream": 1, "datagram": 2, "raw": 3, "seqpacket": 5}
    if family in FACTS["families"]:
        raise OSError(errno.EACCES, "allowed here by the policy: an own loopback")
    try:
        socket.socket(_FAMILIES[family], kinds[kind], 0).close()
    except OSError as error:
        if error.errno in REFUSED:
            raise
        return "the kernel was asked: " + str(error)
    return "made"


@each("connect", ("tcp", "tcp-child", "udp", "path", "abstract", "name", "listen", "pair"))
def connect(what):
    if what == "tcp":
        socket.create_connection(("127.0.0.1", FACTS["tcp"]), 2).close()
    elif what == "tcp-child":
        code = "import socket,sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2)"
        if subprocess.run([sys.executable, "-c", code, str(FACTS["tcp"])], capture_output=True, check=False).returncode:
            raise OSError(errno.EPERM, "the child failed")
    elif what == "udp":
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"x", ("127.0.0.1", FACTS["udp"]))
        return "?"  # the caller looks whether it came
    elif what in ("path", "abstract"):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(FACTS["path_socket"] if what == "path" else "\0" + FACTS["abstract"])
    elif what == "name":
        if FACTS["families"]:
            raise OSError(errno.EACCES, "own loopback")
        socket.getaddrinfo("trivet.invalid", 80)
    elif what == "listen":
        if FACTS["families"]:
            raise OSError(errno.EACCES, "own loopback")
        socket.socket().listen()
    else:
        left, _ = socket.socketpair(socket.AF_INET, socket.SOCK_STREAM)
    return "connected"


@each("call", FACTS.get("denied", ()))
def forbidden_call(name):
    """Make the call with senseless arguments: anything but a refusal means that the kernel has looked at them."""
    try:
        syscall(name, *([-1] * 6))
    except OSError as error:
        if error.errno in REFUSED:
            raise
        return "the kernel was asked: " + str(error)
    return "answered"


@each("namespace", ("user", "mount", "pid", "net", "ipc", "uts", "cgroup", "time"))
def namespace(name):
    flags = {
        "user": 0x10000000,
        "mount": 0x20000,
        "pid": 0x20000000,
        "net": 0x40000000,
        "ipc": 0x8000000,
        "uts": 0x4000000,
        "cgroup": 0x2000000,
        "time": 0x80,
    }
    return in_fork(lambda: syscall("unshare", flags[name]))


@each("clone", ("user", "pid", "mount", "three"))
def clone(name):
    if name == "three":
        syscall("clone3", ctypes.create_string_buffer(88), 88)
        return "made"
    flags = {"user": 0x10000000, "pid": 0x20000000, "mount": 0x20000}[name]
    args = (flags | signal.SIGCHLD, 0, 0, 0, 0)
    pid = syscall("clone", *args)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "made"


@each("mount", ("tmpfs", "bind", "proc", "remount", "unmount", "chroot"))
def mount(name):
    here = FACTS["scratch"].encode()
    if name == "chroot":
        return in_fork(lambda: os.chroot(FACTS["scratch"]))
    calls = {
        "tmpfs": ("mount", b"none", here, b"tmpfs", 0, 0),
        "bind": ("mount", b"/", here, 0, 4096, 0),
        "proc": ("mount", b"proc", here, b"proc", 0, 0),
        "remount": ("mount", b"none", b"/", 0, 32 | 4096, 0),
        "unmount": ("umount2", b"/dev/shm", 8),
    }
    return in_fork(lambda: syscall(*calls[name]))


@each("become", ("root", "root-group", "groups", "capability", "ambient", "more-files", "more-memory", "more-processes", "privileges"))
def become(name):
    return in_fork(lambda: become_here(name))


def become_here(name):
    try:
        if name == "root":
            os.setuid(0)
        elif name == "root-group":
            os.setgid(0)
        elif name == "groups":
            os.setgroups([0])
        elif name == "capability":
            syscall("capset", struct.pack("Ii", 0x20080522, 0), struct.pack("IIIIII", 1 << 21, 1 << 21, 0, 0, 0, 0))
        elif name == "ambient":
            if libc.prctl(47, 2, 21, 0, 0) != 0:
                os._exit(3)
        elif name == "privileges":
            if libc.prctl(39, 0, 0, 0, 0) == 1:
                os._exit(3)
        else:
            kind = {"more-files": resource.RLIMIT_NOFILE, "more-memory": resource.RLIMIT_DATA, "more-processes": resource.RLIMIT_NPROC}[
                name
            ]
            hard = resource.getrlimit(kind)[1]
            if hard != resource.RLIM_INFINITY:
                resource.setrlimit(kind, (hard, hard + 1))
    except (OSError, ValueError):
        os._exit(3)


@each("terminal", ("inject", "paste"))
def terminal(name):
    try:
        fcntl.ioctl(0, 0x5412 if name == "inject" else 0x541C, b"x")
    except OSError as error:
        if error.errno in REFUSED:
            raise
        return "the kernel was asked: " + str(error)
    return "injected"


@each("old-calls", ("x32", "i386") if X86 else ())
def old_calls(name):
    """Calls of another architecture, which the filter's numbers do not fit."""
    if name == "x32":
        return in_fork(lambda: libc.syscall(ctypes.c_long(0x40000000 | 39)) < 0 and os._exit(3))
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, getpid; int 0x80; ret
    run = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    return in_fork(lambda: run())
