"""The pytest plugin that sees what happens and says so: collection, phases, skips and their origin, subtests.

Outcomes are taken from the exception that a phase really raised, and from the final report; where the two disagree the worse one counts.
"""

import random
import sys
import time

import pytest
from _pytest import outcomes

from . import calm, examples, lift, steady
from .origin import Places, speaks_of_environment
from .record import brief

_perf = time.perf_counter
SLICE = 400
SUB_REPORTS = ("SubtestReport", "SubTestReport")


def is_refusal(error):
    """Whether it is the judge's own refusal, not a class of the source that bears its name."""
    own = sys.modules.get(__package__ + ".split_errors")
    return own is not None and type(error) is own.SplitUnsupported


class Watch:
    """Registered as the first plugin of the run."""

    def __init__(self, job, emit):
        self.job = job
        self.emit = emit
        self.places = Places(job)
        self.pending = {}
        self.skip_tracebacks = {}
        self.made_by_source = False
        self.moments = steady.Moments()
        self.trial = Trial(job.trial)
        self._guard_unittest()

    # --- collection

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config):
        """Switch off what stops early or spreads over processes, whatever ``addopts`` says."""
        for name, value in (
            ("stepwise", False),
            ("lf", False),
            ("failedfirst", False),
            ("maxfail", 0),
            ("exitfirst", False),
            ("collectonly", False),
        ):
            if hasattr(config.option, name):
                setattr(config.option, name, value)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector):
        """Tell which sealed file could not be collected, or was skipped as a whole."""
        if isinstance(collector, pytest.Module) and self.job.lift:
            lift.module(self.job, collector)
        outcome = yield
        try:
            report = outcome.get_result()
        except BaseException as error:
            self.emit("collect_error", file=collector.nodeid, text=brief(error))
            raise
        if report.outcome == "passed":
            return
        call = getattr(report, "call", None)
        error = call.excinfo.value if call is not None and call.excinfo is not None else None
        traceback = call.excinfo.tb if error is not None else None
        if report.outcome == "skipped":
            reason = self._reason(report, error)
            file, line = self.places.sealed_line(traceback)
            self.emit(
                "collect_skip",
                file=collector.nodeid,
                reason=reason,
                src=self.places.raised_by_source(traceback),
                env="could not import" in reason or speaks_of_environment(reason, self.job.root, file or collector.nodeid, line),
            )
            return
        cause = getattr(error, "__cause__", None) or error
        text = brief(cause) if cause is not None and type(cause).__name__ != "CollectError" else str(report.longreprtext)[-800:]
        self.emit("collect_error", file=collector.nodeid, text=text, tail=str(report.longreprtext)[-1500:])

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, session, config, items):
        """Keep exactly the tests that the job names, after every other plugin has had its say."""
        yield
        job = self.job
        steady.rename(items, self.moments)
        drop, only = set(job.drop), None if job.ids is None else set(job.ids)
        kept = [item for item in items if item.nodeid not in drop and (only is None or item.nodeid in only)]
        kept = examples.settle(kept, job, self.places)
        if job.order_seed is not None:
            kept = _shuffled(kept, job.order_seed)
        for item in kept:
            if item.nodeid in job.lift:
                lift.item(item)
        items[:] = kept

    def pytest_collection_finish(self, session):
        """Tell the ids that will run."""
        ids = [item.nodeid for item in session.items]
        for start in range(0, len(ids), SLICE):
            self.emit("collected", ids=ids[start : start + SLICE])
        generated = [item.nodeid for item in session.items if examples.given(getattr(item, "obj", None))]
        for start in range(0, len(generated), SLICE):
            self.emit("generated", ids=generated[start : start + SLICE])

    def pytest_internalerror(self, excinfo):
        """The runner itself broke."""
        self.emit("internal", text=brief(excinfo.value))

    def escaped(self, error):
        """An exception came out of the runner."""
        self.emit("internal", text=brief(error))

    # --- running

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        """In a trial, leave out the rest of a file that has failed it."""
        return True if item.nodeid.partition("::")[0] in self.trial.lost else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid, location):
        """A test starts; the host's clock for it starts with this record."""
        self.emit("begin", id=nodeid)
        self.made_by_source = False
        examples.take_rejected()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item):
        """Same clock and seeds for each test."""
        calm.before_test(self.job)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        """Keep what a phase really raised until its report is published."""
        raised = call.excinfo  # pytest replaces a SkipTest by a skip of its own, which would hide who raised it
        outcome = yield
        report = outcome.get_result()
        self.pending[(report.nodeid, report.when)] = self._facts(item, call, report, raised)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        """Publish a phase."""
        facts = self.pending.pop((report.nodeid, report.when), None)
        if facts is None:
            self.emit("sign", kind="report", detail=f"a report for {report.nodeid} ({report.when}) without a run", blocking=True)
            return
        if type(report).__name__ in SUB_REPORTS:
            self.emit("sub", id=report.nodeid, **facts)
            return
        self.emit("phase", id=report.nodeid, when=report.when, **facts)
        self.trial.saw(report.nodeid, facts)

    def pytest_runtest_logfinish(self, nodeid, location):
        """A test is over."""
        self.emit("done", id=nodeid)

    def _facts(self, item, call, report, raised):
        out = report.outcome
        if hasattr(report, "wasxfail"):
            out = {"skipped": "xfailed", "passed": "xpassed"}.get(out, out)
        facts = {"s": round(call.duration, 6)}
        error = call.excinfo.value if call.excinfo is not None else None
        if error is not None and out in ("passed", "xpassed"):
            self.emit(
                "sign",
                kind="report",
                detail=f"{report.nodeid} ({call.when}) raised {brief(error, 200)} and was reported as {out}",
                blocking=True,
            )
            out = "failed"
        if out in ("skipped", "xfailed"):
            facts.update(self._skip(item, report, error, raised, out))
        elif out == "failed":
            facts["fail"] = self._failure(report, call, error)
        if call.when == "call":
            rejected = examples.take_rejected()
            if rejected and out == "passed":
                facts.update(src=True, reason=f"production code threw away {rejected} generated inputs")
        facts["out"] = out
        return facts

    def _skip(self, item, report, error, raised, out):
        traceback = self.skip_tracebacks.pop(item.nodeid, None) or (raised.tb if raised is not None else None)
        reason = str(getattr(report, "wasxfail", "")) if out == "xfailed" else self._reason(report, error)
        by_source = self.places.raised_by_source(traceback) and (out == "skipped" or isinstance(error, outcomes.XFailed))
        by_source = by_source or (out == "skipped" and self.made_by_source)
        env = False
        if out == "skipped" and not by_source:
            file, line = self.places.sealed_line(traceback)
            function = getattr(getattr(item, "obj", None), "__code__", None)
            own = item.nodeid.split("::")[0]
            marked = not file
            if not (marked and self._unconditional(item)):
                env = speaks_of_environment(
                    reason, self.job.root, file or own, line or -1, function.co_firstlineno if marked and function else 0
                )
        return {"reason": reason[:600], "src": by_source, "env": env}

    @staticmethod
    def _unconditional(item):
        return any(True for _ in item.iter_markers("skip")) and not any(True for _ in item.iter_markers("skipif"))

    @staticmethod
    def _reason(report, error):
        message = getattr(error, "msg", None)
        if isinstance(message, str) and message:
            return message[:600]
        longrepr = report.longrepr
        text = longrepr[2] if isinstance(longrepr, tuple) and len(longrepr) == 3 else str(longrepr)
        return text[len("Skipped: ") :][:600] if text.startswith("Skipped: ") else text[:600]

    def _failure(self, report, call, error):
        if error is None:
            return {"type": "Failed", "message": str(report.longrepr)[:600], "file": "", "line": 0}
        file, line = self.places.sealed_line(call.excinfo.tb)
        kind, _, message = brief(error, 1200).partition(": ")
        if kind == "SplitUnsupported" and not is_refusal(error):
            kind = "SplitUnsupported_of_source"  # the name alone would send the file into shared isolation
        return {"type": kind, "message": message, "file": file, "line": line}

    def _guard_unittest(self):
        """Unittest turns ``SkipTest`` into a call; keep the traceback that it had, to see who raised it."""
        from _pytest.unittest import TestCaseFunction

        plain, kept = TestCaseFunction.addSkip, self.skip_tracebacks

        def addSkip(self, testcase, reason, *args, **kwargs):
            kept[self.nodeid] = sys.exc_info()[2]
            return plain(self, testcase, reason, *args, **kwargs)

        TestCaseFunction.addSkip = addSkip
        if sys.version_info < (3, 11):
            self._guard_skip_test()

    def _guard_skip_test(self):
        """Before 3.11 unittest forgets the traceback; remember who made the exception."""
        import unittest

        plain, places, watch, getframe = unittest.SkipTest.__init__, self.places, self, sys._getframe

        def __init__(self, *args, **kwargs):
            watch.made_by_source = watch.made_by_source or places.caller_is_source(getframe(1))
            plain(self, *args, **kwargs)

        unittest.SkipTest.__init__ = __init__


class Trial:
    """Which files have failed a trial so far."""

    def __init__(self, terms):
        self.seconds, self.green = terms.get("seconds", {}), frozenset(terms.get("green", ()))
        self.total = terms.get("total", 0.0)
        self.spent, self.lost = {}, set()

    def saw(self, name, facts):
        """Count a phase."""
        file = name.partition("::")[0]
        if file not in self.seconds:
            return
        self.spent[file] = self.spent.get(file, 0.0) + facts["s"]
        if self.spent[file] > self.seconds[file] or (name in self.green and facts["out"] not in ("passed", "xpassed")):
            self.lost.add(file)
        if sum(self.spent.values()) > self.total:
            self.lost.update(self.seconds)


def _shuffled(items, seed):
    """Another order of files, and of tests inside of each file; classes stay together. A seed below 0 gives the reverse of its opposite.

    Of an order and its reverse, one swaps any two tests of a file against the order in which they are written.
    """
    if seed < 0:
        return _shuffled(items, -seed)[::-1]
    rng = random.Random(seed)
    files = {}
    for item in items:
        files.setdefault(item.nodeid.split("::")[0], {}).setdefault("::".join(item.nodeid.split("::")[:-1]), []).append(item)
    order = list(files.values())
    rng.shuffle(order)
    found = []
    for groups in order:
        inner = list(groups.values())
        rng.shuffle(inner)
        for group in inner:
            rng.shuffle(group)
            found += group
    return found
