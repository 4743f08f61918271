"""``trivet flake``: one plain and at most ten perturbed runs of test files, to see which tests do not always end the same way, and why.

Each perturbed run costs at most about three plain ones; what it changes is in ``SETTINGS``. The last one looks closely: it tries single
pairs and settings in forked children, in a time that is bounded by the plain run's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from trivet.leasing.lab import Lab
from trivet.legs import flakes
from trivet.model import Failure, RunRecord
from trivet.stage.calibrate import check_startable
from trivet.stage.runner import PINNED, Variation

LATE = datetime(2028, 2, 29, 23, 59, 59, tzinfo=UTC).timestamp()
"""Years ahead, a leap day, the end of a month, a second before midnight."""

ZONE = "CHAST-12:45CHADT,M9.5.0/2:45,M4.1.0/3:45"
"""Far from UTC, not by whole hours, with daylight saving; needs no files of zones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One perturbed run: how its process differs, what the probe changes in it, and the seed's offset."""

    variation: Variation = PINNED
    spec: Mapping[str, object] = field(default_factory=dict)
    seed: int = 0


SETTINGS: dict[str, Setting] = {
    "order": Setting(spec={"order": "reverse"}),
    "hash": Setting(variation=Variation(hash_seed=1_234_567)),
    "seed": Setting(variation=Variation(hash_seed=424_242), seed=7_919),
    "zone": Setting(variation=Variation(env=(("TZ", ZONE),))),
    "clock": Setting(spec={"clock": LATE}),
    "threads": Setting(variation=Variation(one_cpu=True), spec={"switch": 1e-6, "delay": 0.05}),
    "twice": Setting(spec={"twice": True}),
    "host": Setting(
        variation=Variation(env=(("LC_ALL", "C"), ("LANG", "C"), ("PYTHONUTF8", "0"), ("PYTHONCOERCECLOCALE", "0"))),
        spec={"cwd": "elsewhere", "pid": 1, "net": "answer"},
    ),
    "again": Setting(),
}
CLOSE_SHARE = 1.2
"""Seconds of the close look for each second of the plain run."""
_LEAST_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What perturbed runs have shown. ``seconds``: of each perturbed run by name.

    ``failures``: how a test failed, the first time it did.
    """

    tests: tuple[flakes.Flake, ...]
    plain_s: float
    seconds: tuple[tuple[str, float], ...]
    broken: tuple[tuple[str, str], ...] = ()
    failures: tuple[tuple[str, Failure], ...] = ()


def look(lab: Lab, files: Sequence[str], *, say: Callable[[str], None]) -> Found:
    """Run the files plainly, then perturbed, and judge each test.

    Args:
        lab: a laid copy of the work tree.
        files: test files, relative to its root.
        say: is told one line a run.

    Raises:
        ProbeError: the project's interpreter or its pytest can't run.
    """
    say("a plain run")
    plain = _run(lab, files, "plain", Setting())
    check_startable(plain, own_runner=bool(lab.runner.stand.own_runner))
    runs: dict[str, RunRecord] = {}
    for name, setting in SETTINGS.items():
        say(f"perturbed run {len(runs) + 1}: {flakes.words(name)}")
        runs[name] = _run(lab, files, name, setting)
    seen = _seen(plain, runs)
    doubtful = [one for one in seen if {"order", "host", "seed"} & set(flakes.flips(one)) and "again" not in flakes.flips(one)]
    if doubtful:
        say(f"perturbed run {len(runs) + 1}: a close look at {len(doubtful)} tests")
        runs["close"] = _close(lab, files, plain, doubtful)
        notes = {str(note.get("id")): note for note in runs["close"].notes if note.get("k") == "close"}
        seen = [replace(one, close=notes.get(one.id, {})) for one in seen]
    return Found(
        tests=tuple(flakes.judge(one) for one in seen),
        plain_s=plain.seconds,
        seconds=tuple((name, run.seconds) for name, run in runs.items()),
        failures=tuple(_failures((plain, *runs.values())).items()),
        broken=tuple((name, run.end.detail or run.end.how) for name, run in {"plain": plain, **runs}.items() if run.end.how != "closed"),
    )


def _run(lab: Lab, files: Sequence[str], name: str, setting: Setting) -> RunRecord:
    runner = lab.runner
    spec = {"name": name, **setting.spec}
    job = runner.job(files, variation=setting.variation, seed=runner.policy.seed + setting.seed, extra={"perturb": spec})
    if "clock" in spec:
        job.clock = float(str(spec["clock"]))
    return runner.run(job, variation=setting.variation)


def _seen(plain: RunRecord, runs: Mapping[str, RunRecord]) -> list[flakes.Seen]:
    touched = {str(note.get("id")): note.get("flags") for note in plain.notes if note.get("k") == "touched"}
    results = {name: {result.id: result for result in run.results} for name, run in runs.items()}
    found = []
    for first in plain.results:
        mine = {name: by_id[first.id] for name, by_id in results.items() if first.id in by_id}
        failures = {name: one.failure.type for name, one in {"plain": first, **mine}.items() if one.failure is not None}
        flags = touched.get(first.id)
        seen = flakes.Seen(
            id=first.id,
            plain=first.outcome,
            outcomes={name: one.outcome for name, one in mine.items()},
            failures=failures,
            touched=tuple(map(str, flags)) if isinstance(flags, list) else (),
        )
        found.append(seen)
    return found


def _failures(runs: Iterable[RunRecord]) -> dict[str, Failure]:
    found: dict[str, Failure] = {}
    for result in (result for run in runs for result in run.results):
        if result.failure is not None:
            found.setdefault(result.id, result.failure)
    return found


def _close(lab: Lab, files: Sequence[str], plain: RunRecord, doubtful: Sequence[flakes.Seen]) -> RunRecord:
    order = [result.id for result in plain.results]
    rows = []
    for one in doubtful:
        place = order.index(one.id)
        why = "order" if "order" in flakes.flips(one) else "setting"
        row = {"id": one.id, "why": why, "was": "passed" if one.plain in ("passed", "xpassed") else "failed"}
        rows.append({**row, "before": order[:place], "after": order[place + 1 :][::-1]} if why == "order" else row)
    spec = {"close": rows, "seconds": max(_LEAST_S, CLOSE_SHARE * plain.seconds)}
    return _run(lab, files, "close", Setting(spec=spec))
