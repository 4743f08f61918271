"""Subject side: the wall clock that a test has set, for the time of its calls.

A test that freezes or moves the clock does so in the judge's process. The subject is told the moment before each call and answers with it wherever
code asks for the time of day. ``datetime`` keeps its classes, so that a value made before, during and after is of one type; the monotonic clocks
go on.
"""

import calendar
import datetime as dt
import gc
import sys
import time

_READ = {name: getattr(time, name) for name in ("time", "time_ns", "localtime", "gmtime", "ctime", "strftime", "asctime")}


class Clock:
    """The moment that the tests have set, or the machine's own."""

    def __init__(self):
        self.now_ns = 0
        self.shift_s = 0
        self.undo = []

    def set(self, now_ns, shift_s):
        """Stand still at ``now_ns`` after the epoch, with local time ``shift_s`` seconds ahead of UTC."""
        self.now_ns, self.shift_s = now_ns, shift_s
        if not self.undo:
            self._functions()
            self._classes()

    def clear(self):
        """Give the machine's clock back."""
        while self.undo:
            self.undo.pop()()

    def _functions(self):
        """Replace the functions of ``time``, also where a module has taken one by name."""
        fakes = {
            "time": lambda: self.now_ns / 1e9,
            "time_ns": lambda: self.now_ns,
            "gmtime": lambda seconds=None: _READ["gmtime"](self.now_ns / 1e9 if seconds is None else seconds),
            "localtime": lambda seconds=None: self._local() if seconds is None else _READ["localtime"](seconds),
            "ctime": lambda seconds=None: _READ["asctime"](self._local()) if seconds is None else _READ["ctime"](seconds),
            "asctime": lambda parts=None: _READ["asctime"](self._local() if parts is None else parts),
            "strftime": lambda form, parts=None: _READ["strftime"](form, self._local() if parts is None else parts),
        }
        by_id = {id(_READ[name]): fake for name, fake in fakes.items()}
        for label, module in list(sys.modules.items()):
            space = getattr(module, "__dict__", None)
            if type(space) is not dict or label == __name__:
                continue
            for name, held in list(space.items()):
                fake = by_id.get(id(held))
                if fake is not None:
                    space[name] = fake
                    self.undo.append(lambda space=space, name=name, held=held: space.__setitem__(name, held))

    def _local(self):
        return _READ["gmtime"](self.now_ns / 1e9 + self.shift_s)

    def _classes(self):
        """Replace what asks the clock in the classes of ``datetime`` themselves: whoever holds a class sees it."""
        epoch = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)

        def naive(kind, shift_s):
            moment = epoch + dt.timedelta(microseconds=self.now_ns // 1000, seconds=shift_s)
            return kind(moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second, moment.microsecond)

        def now(kind, tz=None):
            if tz is None:
                return naive(kind, self.shift_s)
            return tz.fromutc(naive(kind, 0).replace(tzinfo=tz))

        def today(kind):
            moment = naive(dt.datetime, self.shift_s)
            return naive(kind, self.shift_s) if issubclass(kind, dt.datetime) else kind(moment.year, moment.month, moment.day)

        fakes = {dt.datetime: {"now": now, "utcnow": lambda kind: naive(kind, 0), "today": today}, dt.date: {"today": today}}
        for kind, functions in fakes.items():
            space = gc.get_referents(kind.__dict__)[0]
            for name, function in functions.items():
                held = space.get(name)
                space[name] = classmethod(function)
                self.undo.append(lambda space=space, name=name, held=held: space.pop(name) if held is None else space.__setitem__(name, held))
            _forget(kind)
            self.undo.insert(0, lambda kind=kind: _forget(kind))


def _forget(kind):
    """Make the interpreter look the attributes of a builtin class up anew."""
    import ctypes

    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def seen_by_tests(first):
    """What the tests have done to the clock: (now_ns, shift_s), or None where it stands as it was at ``first`` (see ``mark``).

    A replaced function (as freezegun does) and a nested journey of time-machine are seen.
    """
    if mark() == first:
        return None
    now_ns = time.time_ns()
    return now_ns, calendar.timegm(time.localtime()) - calendar.timegm(time.gmtime())


def mark():
    """A value that changes when the tests put a clock in place or take it away."""
    return id(time.time), id(time.time_ns), len(getattr(sys.modules.get("time_machine"), "coordinates_stack", ()))
