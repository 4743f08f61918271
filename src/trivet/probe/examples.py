"""Generated tests (hypothesis): pinned examples, fresh ones from a seed the patch could not know, and inputs that production code throws away."""

import sys

_rejected = {"count": 0, "where": ""}


def given(function):
    """The hypothesis wrappers in the chain of a test function, outermost first."""
    found, seen = [], set()
    if "hypothesis" not in sys.modules:
        return found
    function = getattr(function, "__func__", function)
    while function is not None and id(function) not in seen:
        seen.add(id(function))
        if getattr(function, "is_hypothesis_test", False):
            found.append(function)
        function = getattr(function, "__wrapped__", None)
    return found


def settle(items, job, places):
    """Pin the examples of each generated test; with ``job.fresh`` keep only generated tests and draw new ones. Returns the items to run."""
    core = sys.modules.get("hypothesis")
    kept = [item for item in items if core is not None and given(getattr(item, "obj", None))] if job.fresh else items
    if core is None:
        return kept
    for item in kept:
        for function in given(getattr(item, "obj", None)):
            _pin(core, function, job)
    _watch_rejections(core, places)
    return kept


def _pin(core, function, job):
    now = getattr(function, "_hypothesis_internal_use_settings", None) or core.settings.default
    changes = {"database": None}
    deadline = now.deadline
    if deadline is not None and deadline.total_seconds() == 0.2:
        changes["deadline"] = None  # the library's own default: a busy host is no defect
    health = set(now.suppress_health_check) | {core.HealthCheck.too_slow}
    changes["suppress_health_check"] = sorted(health, key=lambda check: check.name)
    if job.fresh:
        changes.update(max_examples=job.fresh, phases=[core.Phase.generate, core.Phase.shrink], derandomize=False)
    try:
        function._hypothesis_internal_use_settings = core.settings(now, **changes)
        function._hypothesis_internal_use_seed = job.fresh_seed if job.fresh else job.seed
    except Exception:
        return


def _watch_rejections(core, places):
    """Count examples that production code makes invalid: with them a wrong answer disappears."""
    getframe = sys._getframe
    for name in ("UnsatisfiedAssumption", "StopTest"):
        kind = getattr(core.errors, name, None)
        if kind is None or getattr(kind.__init__, "_watched", False):
            continue
        plain = kind.__init__

        def watched(self, *args, _plain=plain, **kwargs):
            frame = getframe(1)
            if places.caller_is_source(frame):
                _rejected["count"] += 1
            return _plain(self, *args, **kwargs)

        watched._watched = True
        kind.__init__ = watched


def take_rejected():
    """How many examples production code threw away since the last call."""
    count, _rejected["count"] = _rejected["count"], 0
    return count
