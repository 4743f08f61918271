"""The server that is forked for each job: the runner is imported once, sealed and source modules never.

It serves on one socket (``SOCK_SEQPACKET``), whose other end the host holds; messages are JSON objects. ``{"do": "warm", …}`` names modules to
import and files to make bytecode of. ``{"do": "lend", …}`` comes from the supervisor of one run, with descriptors: a status socket, the
supervisor's pid namespace, and those of ``behind.settle``. The server forks into that namespace; the copy goes behind the wall, writes
``pid N`` to the status socket (or ``error TEXT``), waits for a ``+``, lets go of everything of the server and does its job. When it has ended
the server writes ``exit N``. Jobs never see each other: what a copy knows is what the server knew, which is nothing of any job.
"""

import array
import gc
import json
import os
import select
import socket
import sys

from . import behind, kept, warm

_LARGEST = 1 << 20
_FDS = 16


class Loan:
    """What a copy was forked for."""

    def __init__(self, request, store):
        self.job, self.record = request["keep"][:2]
        self.kept = store


class Server:
    """See the module."""

    def __init__(self, fd):
        self.socket = socket.socket(fileno=fd)
        self.own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self.poller = select.poll()
        self.poller.register(self.socket, select.POLLIN)
        self.copies = {}
        self.store = kept.Store()

    def serve(self):
        """Answer until the host hangs up; returns in a copy alone."""
        while True:
            for fd, _ in self.poller.poll():
                if fd != self.socket.fileno():
                    self.reap(fd)
                    continue
                data, fds = self.receive()
                if not data:
                    os._exit(0)
                loan = self.handle(data, fds)
                if loan is not None:
                    return loan

    def receive(self):
        """One message and its descriptors."""
        try:
            data, control, _, _ = self.socket.recvmsg(_LARGEST, socket.CMSG_SPACE(_FDS * array.array("i").itemsize), socket.MSG_CMSG_CLOEXEC)
        except OSError:
            return b"", []
        fds = array.array("i")
        for level, kind, raw in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(raw[: len(raw) - len(raw) % fds.itemsize])
        return data, list(fds)

    def handle(self, data, fds):
        """Do what a message asks; a ``Loan`` in a copy."""
        request = json.loads(data)
        if request["do"] == "confine":
            behind.see_nothing_written()
            behind.call("capset", request["capset"], *[bytes.fromhex(text) for text in request["caps"]])
            behind.prctl(38, 1)
            behind.refuse(bytes.fromhex(request["filter"]))
        elif request["do"] == "warm":
            with os.fdopen(fds[0], "rb") as stream:
                stream.seek(0)
                told = json.load(stream)
            warm.load(told)
            self.store.fill(told["make"], fds[1])
            gc.collect()
            gc.freeze()  # a collection in a copy must not touch, and so copy, what all share
        elif request["do"] == "lend":
            return self.lend(request, fds)
        return None

    def lend(self, request, fds):
        """Fork for one job."""
        status, space, *rest = fds
        try:
            behind.enter(space, behind.NEWPID)
            pid = os.fork()
        except OSError as error:
            self.restore()
            _say(status, f"error fork: {error}")
            self.forget(fds)
            return None
        if pid == 0:
            return self.become(request, rest, status)
        self.restore()
        self.forget([fd for fd in fds if fd != status])
        watch = os.pidfd_open(pid)
        self.copies[watch] = (pid, status)
        self.poller.register(watch, select.POLLIN)
        return None

    def restore(self):
        """Fork into the own pid namespace again."""
        behind.enter(self.own, behind.NEWPID)

    def become(self, request, fds, status):
        """In the copy: go behind the wall; never returns where that fails."""
        try:
            self.socket.detach()
            self.copies, self.poller = {}, None
            status = behind.settle(request, fds, status)
            _say(status, f"pid {os.getpid()}")
            if os.read(status, 1) != b"+":
                os._exit(127)  # the supervisor would not wait so long, and has started another process
            os.close(status)
            return Loan(request, self.store)
        except BaseException as error:
            _say(status, f"error {type(error).__name__}: {error}")
            os._exit(127)

    @staticmethod
    def forget(fds):
        """Close descriptors."""
        for fd in fds:
            os.close(fd)

    def reap(self, watch):
        """A copy has ended."""
        pid, status = self.copies.pop(watch)
        self.poller.unregister(watch)
        os.close(watch)
        _, how = os.waitpid(pid, 0)
        _say(status, f"exit {os.WEXITSTATUS(how) if os.WIFEXITED(how) else -os.WTERMSIG(how)}")
        os.close(status)


def _say(fd, text):
    try:
        os.write(fd, text.replace("\n", " ").encode("utf-8", "replace")[:2000] + b"\n")
    except OSError:
        pass


def serve(fd):
    """Serve on ``fd``; returns in forked copies alone."""
    sys.argv[:] = ["pytest"]
    return Server(fd).serve()
