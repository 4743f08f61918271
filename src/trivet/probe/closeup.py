"""A close look at tests whose outcome differed: each trial in a forked child, so that none leaves a trace in the next.

For a test that another order changed it looks for the one other test that makes the difference; for a test that several settings of the
world could have changed, for the one that does.
"""

import json
import os
import random
import select
import signal
import sys
import time

from . import standin

_TRIAL_S = 20.0


class Sibling:
    """Stands for a next test beside an item: pytest then takes down the item alone."""

    def __init__(self, item):
        self._chain = [*item.listchain()[:-1], self]

    def listchain(self):
        """The item's parents, and itself."""
        return self._chain


def renew(item):
    """Make an item ready to run once more."""
    again = getattr(item, "_initrequest", None)
    if again is not None:
        again()


def look(session, job, spec, emit):
    """Look at each test of ``spec["close"]`` until the time is over; tell ``close`` for each that was understood."""
    items = {item.nodeid: item for item in session.items}
    ends = time.monotonic() + spec["seconds"]
    for row in spec["close"]:
        victim = items.get(row["id"])
        if victim is None:
            continue
        left = min(ends, time.monotonic() + max(1.0, spec["seconds"] / len(spec["close"])))
        if row["why"] == "order":
            before = [items[name] for name in row["before"] if name in items]
            after = [items[name] for name in row["after"] if name in items]
            found = _pair(job, victim, before, after, row["was"], left)
        else:
            found = _setting(job, victim, row["was"], left)
        if found:
            emit("close", id=row["id"], **found)


def _pair(job, victim, before, after, was, ends):
    """The smallest set of tests that makes ``victim`` end otherwise than alone, and how it ends then."""
    alone = _trial(job, [victim], ends)
    if alone is None:
        return None
    if alone != was:  # it needs something that ran before it
        found = _shrunk(job, victim, before, lambda out: out == was, ends)
        return {"needs": [item.nodeid for item in found], "alone": alone} if found else None
    found = _shrunk(job, victim, after, lambda out: out is not None and out != was, ends)
    return {"spoilt": [item.nodeid for item in found], "alone": alone} if found else None


def _shrunk(job, victim, items, shows, ends):
    near = [item for item in items if item.path == victim.path] if hasattr(victim, "path") else []
    if near and shows(_trial(job, [*near, victim], ends)):
        items = near
    elif not items or not shows(_trial(job, [*items, victim], ends)):
        return None
    while len(items) > 1 and time.monotonic() < ends:
        half = len(items) // 2
        for part in (items[half:], items[:half]):
            if shows(_trial(job, [*part, victim], ends)):
                items = part
                break
        else:
            return _one_by_one(job, victim, items, shows, ends)
    return items


def _one_by_one(job, victim, items, shows, ends):
    """No half shows it: leave out what is not needed."""
    for item in list(items):
        rest = [other for other in items if other is not item]
        if time.monotonic() > ends or not rest:
            break
        if shows(_trial(job, [*rest, victim], ends)):
            items = rest
    return items


def _setting(job, victim, was, ends):
    """Which setting alone makes the difference, of those that can be changed in a running process."""
    if _trial(job, [victim], ends) != was:
        return None
    for name, change in _changes(job):
        out = _trial(job, [victim], ends, change)
        if out is not None and out != was:
            return {"setting": name, "alone": was}
    return None


def _changes(job):
    other = os.path.join(job.scratch, "elsewhere")
    os.makedirs(other, exist_ok=True)

    def locale():
        import locale as library

        os.environ["LC_ALL"] = "C"
        library.setlocale(library.LC_ALL, "C")

    def seed():
        job.seed += 1_000_003
        random.seed(job.seed)

    yield "network", standin.network
    yield "working directory", lambda: os.chdir(other)
    yield "process id", lambda: standin.pid(1)
    yield "random seed", seed
    yield "locale", locale


def _trial(job, items, ends, change=None):
    """How the last of some tests ends in a child of its own; None where that took too long."""
    if time.monotonic() > ends:
        return None
    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            if change is not None:
                change()
            os.write(writer, json.dumps(_run(items)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    data = b""
    try:
        until = min(ends + 1.0, time.monotonic() + _TRIAL_S)
        while True:
            left = until - time.monotonic()
            if left <= 0 or not select.select([reader], [], [], left)[0]:
                os.kill(pid, signal.SIGKILL)
                return None
            part = os.read(reader, 65536)
            if not part:
                break
            data += part
    finally:
        os.close(reader)
        os.waitpid(pid, 0)
    return json.loads(data) if data else "failed"


def _run(items):
    from _pytest.runner import runtestprotocol

    out = "passed"
    for number, item in enumerate(items):
        following = items[number + 1] if number + 1 < len(items) else None
        reports = runtestprotocol(item, nextitem=following, log=False)
        out = "passed"
        for report in reports:
            if report.outcome == "failed":
                out = "failed"
            elif report.outcome == "skipped" and out == "passed":
                out = "skipped"
    return out
