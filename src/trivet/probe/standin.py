"""Stand-ins for parts of the world, for perturbed runs: clock, process id, network, threads that start late."""

import builtins
import errno
import functools
import os
import socket
import threading
import time


def count(owner, name, seen, flag):
    """Note that a function was called."""
    plain = getattr(owner, name)

    @functools.wraps(plain)
    def counted(*args, **kwargs):
        seen.add(flag)
        return plain(*args, **kwargs)

    setattr(owner, name, counted)


def count_builtin(name, seen, flag):
    """Note that a test asked a builtin; the runner's own calls come from other modules' names and count as well, so look at bodies only."""
    count(builtins, name, seen, flag)


def pid(offset):
    """Another process id."""
    plain = os.getpid
    os.getpid = lambda: plain() + offset


def late_threads(seconds):
    """Every thread begins its work a moment after it was started."""
    plain = threading.Thread.run

    def run(self):
        time.sleep(seconds)
        plain(self)

    threading.Thread.run = run
    for name in ("Timer",):
        cls = getattr(threading, name)
        cls.run = _late(cls.run, seconds)


def _late(plain, seconds):
    @functools.wraps(plain)
    def run(self):
        time.sleep(seconds)
        plain(self)

    return run


def network():
    """A network that answers where there was none, and refuses what was answered: names resolve, connections hold and bring nothing."""
    plain_connect, plain_connect_ex = socket.socket.connect, socket.socket.connect_ex

    def local(address):
        return not isinstance(address, tuple) or str(address[0]) in ("127.0.0.1", "::1", "localhost")

    def connect(self, address):
        if local(address):
            if isinstance(address, tuple):
                raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
            return plain_connect(self, address)
        return None

    def connect_ex(self, address):
        if local(address):
            return errno.ECONNREFUSED if isinstance(address, tuple) else plain_connect_ex(self, address)
        return 0

    def getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
        number = port if isinstance(port, int) else 0
        return [(socket.AF_INET, type or socket.SOCK_STREAM, proto or 6, "", ("192.0.2.7", number))]

    plain_init = socket.socket.__init__
    kept = []

    def init(self, family=-1, type=-1, proto=-1, fileno=None):
        try:
            plain_init(self, family, type, proto, fileno)
        except OSError:  # the wall gives no socket of that kind: one that leads nowhere will do
            mine, other = _pair()
            kept.append(other)
            plain_init(self, socket.AF_UNIX, socket.SOCK_STREAM, 0, mine)

    socket.socket.__init__ = init
    socket.socket.connect, socket.socket.connect_ex = connect, connect_ex
    socket.getaddrinfo = getaddrinfo
    socket.gethostbyname = lambda host: "192.0.2.7"
    socket.gethostname = lambda: "elsewhere"


def _pair():
    import _socket

    return [end.detach() for end in _socket.socketpair()]


def clock(moment):
    """Move the wall clock to a moment for everything that asks Python for it; it goes on ticking. Returns what sets it back to the moment."""
    import datetime as module  # noqa: ICN001 - its classes are replaced

    plain_time, plain_ns = time.time, time.time_ns
    shift = [0.0]

    def again():
        shift[0] = moment - plain_time()

    again()
    time.time = lambda: plain_time() + shift[0]
    time.time_ns = lambda: plain_ns() + int(shift[0] * 1_000_000_000)
    for name in ("localtime", "gmtime"):
        setattr(time, name, _of_now(getattr(time, name)))
    plain_strftime, plain_asctime, plain_ctime = time.strftime, time.asctime, time.ctime
    time.strftime = lambda form, at=None: plain_strftime(form, time.localtime() if at is None else at)
    time.asctime = lambda at=None: plain_asctime(time.localtime() if at is None else at)
    time.ctime = lambda seconds=None: plain_ctime(time.time() if seconds is None else seconds)
    module.datetime = _datetime(module, module.datetime)
    module.date = _date(module, module.date)
    return again


def _of_now(plain):
    def moved(seconds=None):
        return plain(time.time() if seconds is None else seconds)

    return moved


class _Plain(type):
    """Instances of the plain class are instances of the stand-in."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, cls.plain)

    def __subclasscheck__(cls, other):
        return issubclass(other, cls.plain)


def _datetime(module, original):
    class datetime(original, metaclass=_Plain):
        plain = original

        @classmethod
        def now(cls, tz=None):
            return original.fromtimestamp(time.time(), tz)

        @classmethod
        def utcnow(cls):
            return original.fromtimestamp(time.time(), module.timezone.utc).replace(tzinfo=None)

        @classmethod
        def today(cls):
            return cls.now()

    return datetime


def _date(module, original):
    class date(original, metaclass=_Plain):
        plain = original

        @classmethod
        def today(cls):
            return original.fromtimestamp(time.time())

    return date
