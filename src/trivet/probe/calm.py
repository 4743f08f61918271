"""What makes two runs alike: the clock and the seeds.

The environment (hash seed, time zone, locale) is made by the host. Here the wall clock is taken over with time-machine where the project's
interpreter has it. ``monotonic`` and ``perf_counter`` keep ticking: frozen, they would break event loops and time-outs.
"""

import random
import sys

_state = {"travel": None, "clock": None, "asked": False}


def settle(job, emit):
    """Freeze the clock as the job asks and say so in the environment facts; returns why the job must be refused, or ""."""
    _state.update(clock=job.clock, asked=job.clock_asked)
    held = "real"
    if job.clock is not None:
        if job.clock_from == "preload":
            held = f"{job.clock:.0f} by a preloaded library"
            _sleep_by_select()
        elif _travel(job.clock):
            held = f"{job.clock:.0f} by time-machine"
        elif job.clock_asked:
            return (
                "the policy asks for a frozen clock, and this interpreter has no time-machine: install `time-machine` into the project's "
                'environment, or let an owner set `clock = "real"`'
            )
        else:
            held = "real (no time-machine in the project's interpreter)"
    emit("env", facts={"clock": held})
    random.seed(job.seed)
    return ""


def _sleep_by_select():
    """The preloaded library refuses an absolute sleep whose end has just passed; a relative wait has no such end."""
    import select
    import time

    def sleep(seconds):
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        select.select([], [], [], seconds)

    time.sleep = sleep


def _travel(clock):
    try:
        import time_machine
    except ImportError:
        return False
    import datetime as dt

    moment = dt.datetime.fromtimestamp(clock, dt.timezone.utc).replace(tzinfo=None)
    # A naive moment is taken as UTC and leaves TZ alone.
    travel = time_machine.travel(moment, tick=False)
    _state["travel"] = travel.start()
    return True


def before_test(job):
    """Set clock and seeds back to the job's values: a test must not depend on how long its predecessors took."""
    random.seed(job.seed)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None and hasattr(numpy_random, "seed"):
        numpy_random.seed(job.seed % 2**32)
    travel = _state["travel"]
    if travel is not None:
        # A clock that the policy names stands still; the default clock starts anew with each test and ticks, since honest tests
        # measure their own waiting with it.
        try:
            travel.move_to(_state["clock"], tick=not _state["asked"])
        except Exception:
            _state["travel"] = None
