"""Perturbed runs: one setting of the world is another, and it is noted what each test touched.

The job's ``extra["perturb"]`` says which: ``order`` ("reverse"), ``twice``, ``cwd`` (a folder), ``pid`` (an offset), ``net`` (answer),
``switch`` and ``delay`` (seconds, for threads), ``clock`` (seconds since the epoch, for interpreters without time-machine), and
``close`` (tests to look at closely, each in forked children). Notes: ``touched`` and ``close``, both read by the host.
"""

import os
import random
import sys
import threading
import time

import pytest

from . import closeup, standin

FLAGS = ("wrote", "relative", "network", "threads", "random", "entropy", "pid", "cwd", "ids")


def install(job, emit):
    """Change what the job says and return the plugin that watches."""
    spec = job.extra["perturb"]
    seen = set()
    _watch_calls(seen, job)
    anew = None
    if spec.get("clock") is not None and not _clock_is_held():
        anew = standin.clock(spec["clock"])
    if spec.get("pid"):
        standin.pid(spec["pid"])
    if spec.get("net"):
        standin.network()
    if spec.get("switch"):
        sys.setswitchinterval(spec["switch"])
    if spec.get("delay"):
        standin.late_threads(spec["delay"])
    if spec.get("cwd"):
        folder = os.path.join(job.scratch, spec["cwd"])
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
    return Plugin(job, emit, spec, seen, anew)


def _clock_is_held():
    from . import calm

    return calm._state["travel"] is not None


def _watch_calls(seen, job):
    """Note what only a few functions can show; files and sockets are told by audit events."""
    ours = os.path.join(job.scratch, "pytest-")

    def hook(event, args):
        if event == "open":
            path, _, flags = args
            if not isinstance(path, (str, bytes)):
                return
            path = os.fsdecode(path)
            if isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and not path.startswith(ours):
                seen.add("wrote")
            if not os.path.isabs(path):
                seen.add("relative")
        elif event in ("os.mkdir", "os.rename", "sqlite3.connect"):
            if not str(args[0]).startswith(ours):
                seen.add("wrote")
        elif event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
            seen.add("network")
        elif event in ("os.listdir", "os.scandir", "os.chdir") and not os.path.isabs(os.fsdecode(args[0] or ".")):
            seen.add("relative")

    sys.addaudithook(hook)
    standin.count(os, "getpid", seen, "pid")
    standin.count(os, "getcwd", seen, "cwd")
    standin.count(os, "urandom", seen, "entropy")
    standin.count(random, "_urandom", seen, "entropy")
    standin.count(threading.Thread, "start", seen, "threads")
    standin.count_builtin("id", seen, "ids")


class Plugin:
    """Orders the tests, runs them twice where asked, and tells what each one touched."""

    def __init__(self, job, emit, spec, seen, anew):
        self.job, self.emit, self.spec, self.seen, self.anew = job, emit, spec, seen, anew
        self.state = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        """Reverse the order where asked."""
        if self.spec.get("order") == "reverse":
            items.reverse()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        """Look closely instead of running, where asked."""
        if self.spec.get("close") is None:
            return None
        closeup.look(session, self.job, self.spec, self.emit)
        return True

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        """What a test body touches is its own."""
        if self.anew is not None:
            self.anew()
        self.seen.clear()
        self.state = random.getstate()
        began = time.perf_counter()
        yield
        flags = sorted(self.seen)
        if random.getstate() != self.state:
            flags.append("random")
        self.emit("touched", id=item.nodeid, flags=flags, s=round(time.perf_counter() - began, 4))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        """Run a test twice where asked; only the second time is told."""
        if not self.spec.get("twice"):
            return None
        from _pytest.runner import runtestprotocol

        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        runtestprotocol(item, nextitem=closeup.Sibling(item), log=False)
        closeup.renew(item)
        runtestprotocol(item, nextitem=nextitem)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True
