"""What a test does besides asserting: which functions of production code it executes, and whether it asks the network or real time itself.

For the admission of properties: a green one that executes no production code says nothing of it. One record ``traced`` for each test that
the job names in ``extra["trace"]``. Functions are seen by a profile function, which is taken away after so many events that a long test
stays bearable; the network by an audit hook. What a fixture executed counts for every test that uses it.
"""

import datetime as dt
import sys
import threading
import time

import pytest

from .origin import Places

EVENTS = 400_000
"""Calls and returns of one test after which no more functions are looked for."""
SHOWN = 20
_TIMES = ("time", "time_ns", "sleep", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "localtime", "gmtime", "ctime")
_OUTSIDE = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.system", "os.spawn", "pty.spawn"})
_NETWORK = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname", "socket.__new__"})
_INET = (2, 10, 23, 30)
"""AF_INET, and AF_INET6 of Linux, Windows and macOS."""


class Seen:
    """What one stretch of a test (a fixture, or the test itself) was seen to do."""

    def __init__(self):
        self.ran, self.network, self.times = {}, {}, {}
        self.outside = self.cut = False

    def add(self, other):
        """Take over what another stretch did."""
        self.ran.update(other.ran)
        self.network.update(other.network)
        self.times.update(other.times)
        self.outside, self.cut = self.outside or other.outside, self.cut or other.cut


class Trace:
    """Registered as a plugin of a run that traces."""

    def __init__(self, job, emit):
        terms = job.extra["trace"]
        self.emit, self.places, self.names = emit, Places(job), frozenset(job.source_names)
        self.wanted, self.loopback = frozenset(terms["functions"]), bool(terms.get("loopback"))
        self.now = None
        self.left = 0
        self.known, self.by_fixture = {}, {}
        self.clocks = {getattr(time, name): "time." + name for name in _TIMES}
        sys.addaudithook(self._audit)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        """Watch one test from the setup of its fixtures to their teardown."""
        if item.nodeid.partition("[")[0] not in self.wanted:
            yield
            return
        self.now, self.left = Seen(), EVENTS
        seen = self.now
        self._watch(self._profile)
        try:
            yield
        finally:
            self._watch(None)
            self.now = None
        for defs in getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).values():
            for one in defs:
                if one in self.by_fixture:
                    seen.add(self.by_fixture[one])
        self.emit(
            "traced",
            id=item.nodeid,
            ran=sorted(seen.ran)[:SHOWN],
            count=len(seen.ran),
            outside=seen.outside,
            cut=seen.cut,
            network=sorted(seen.network)[:5],
            times=sorted(seen.times)[:5],
        )

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef, request):
        """Keep apart what a fixture does: it may do it once for many tests."""
        before = self.now
        if before is None:
            yield
            return
        self.now = mine = Seen()
        try:
            yield
        finally:
            self.now = before
            self.by_fixture[fixturedef] = mine
            before.add(mine)

    def _watch(self, function):
        threading.setprofile(function)
        sys.setprofile(function)

    def _profile(self, frame, event, arg):
        seen = self.now
        if seen is None:
            return
        self.left -= 1
        if self.left < 0:
            seen.cut = True
            sys.setprofile(None)
            return
        if event == "call":
            self._called(seen, frame)
        elif event == "c_call" and self._place(frame) == "sealed":
            self._asked_time(seen, arg)

    def _called(self, seen, frame):
        code = frame.f_code
        place = self._place(frame)
        if place == "source":
            seen.ran[getattr(code, "co_qualname", code.co_name)] = True
        elif place != "sealed" and code.co_argcount and code.co_varnames[0] in ("cls", "_cls") and frame.f_back is not None:
            if self._place(frame.f_back) != "sealed":
                return
            # A class without a constructor of its own, an enumeration, a named tuple: their code is the library's.
            first = frame.f_locals.get(code.co_varnames[0])
            if isinstance(first, type) and str(getattr(first, "__module__", "")).partition(".")[0] in self.names:
                seen.ran[first.__qualname__] = True

    def _place(self, frame):
        code = frame.f_code
        place = self.known.get(code)
        if place is None:
            place = self.known[code] = self.places.of(code.co_filename, frame.f_globals)
        return place

    def _asked_time(self, seen, function):
        try:
            name = self.clocks.get(function)
        except TypeError:
            return
        owner = getattr(function, "__self__", None)
        if name is None and isinstance(owner, type) and issubclass(owner, dt.date):
            method = getattr(function, "__name__", "")
            name = owner.__name__ + "." + method if method in ("now", "utcnow", "today") else None
        if name is not None:
            seen.times[name] = True

    def _audit(self, event, args):
        seen = self.now
        if seen is None or (event not in _NETWORK and event not in _OUTSIDE):
            return
        if event in _OUTSIDE:
            seen.outside = True
            return
        told = self._asked_network(event, args)
        if told:
            seen.network[told] = True

    def _asked_network(self, event, args):
        if event == "socket.__new__":
            # Only where the wall refuses it: the test could not have got further.
            return "" if self.loopback or args[1] not in _INET else "opens a socket of the network"
        if event in ("socket.getaddrinfo", "socket.gethostbyname"):
            host = args[0]
            return "" if self._is_here(host) else "asks for the address of %r" % (host,)
        address = args[1] if len(args) > 1 else None
        if getattr(args[0], "family", None) not in _INET or not isinstance(address, tuple) or self._is_here(address[0]):
            return ""
        return "connects to %r" % (address[0],)

    def _is_here(self, host):
        if isinstance(host, bytes):
            host = host.decode("ascii", "replace")
        return host is None or (self.loopback and (host in ("localhost", "::1", "") or str(host).startswith("127.")))

