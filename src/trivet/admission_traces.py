"""What the new and changed properties do while they run: which production code they execute, whether they ask network or real time.

A run of its own, so that watching does not touch the outcomes that count. A green property that was seen to execute nothing is run once
more alone: a cache or a fixture of another test may have done the work before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from trivet.legs.admission import Candidate, Traced
from trivet.model import Calibrated, RunRecord
from trivet.stage.runner import Runner, Variation

_ALONE = 20
"""Tests that are run once more alone, at most."""
_GREEN = ("passed", "xpassed")


def traced(runner: Runner, moved: Sequence[Calibrated]) -> tuple[Traced, ...]:
    """Watch the moved tests; what ends otherwise than in the pinned run says nothing and is left out."""
    pinned = {test.id: test.outcome for test in moved}
    found = {row.id: row for row in _watch(runner, moved, "-traced") if row.outcome == pinned.get(row.id)}
    idle = [test for test in moved if test.outcome in _GREEN and test.id in found and found[test.id].idle]
    for number, test in enumerate(idle[:_ALONE]):
        found.update({row.id: row for row in _watch(runner, [test], f"-alone{number}") if row.outcome == test.outcome})
    return tuple(found.values())


def idle_on_base(base: Callable[[], Runner], rows: Iterable[Traced], candidates: Iterable[Candidate]) -> frozenset[str]:
    """Of changed properties that execute nothing: those that executed nothing on base either, by test id."""
    changed = {(row.file, row.function) for row in candidates if row.state == "changed"}
    idle = [row for row in rows if row.idle and _function_of(row.id) in changed]
    if not idle:
        return frozenset()
    tests = [Calibrated(id=row.id, file=row.id.partition("::")[0], outcome="passed", seconds=0.0) for row in idle]
    return frozenset(row.id for row in _watch(base(), tests, "-before") if row.idle)


def _watch(runner: Runner, tests: Sequence[Calibrated], fold: str) -> tuple[Traced, ...]:
    ids = [test.id for test in tests]
    files = tuple(dict.fromkeys(test.file for test in tests))
    terms = {"functions": sorted({name.partition("[")[0] for name in ids}), "loopback": runner.policy.network == "loopback"}
    record = runner.run(runner.job(files, ids=ids, extra={"trace": terms}), variation=Variation(fold=fold))
    return rows_of(record)


def rows_of(record: RunRecord) -> tuple[Traced, ...]:
    """The traces of a run, as the probe wrote them."""
    outcomes = {result.id: result.outcome for result in record.results}
    return tuple(_row(note, outcomes) for note in record.notes if note.get("k") == "traced" and str(note.get("id")) in outcomes)


def _row(note: Mapping[str, object], outcomes: Mapping[str, str]) -> Traced:
    name, count = str(note["id"]), note.get("count")
    return Traced(
        id=name,
        outcome=outcomes[name],
        functions=_texts(note.get("ran")),
        count=count if isinstance(count, int) else 0,
        unseen=note.get("outside") is True or note.get("cut") is True,
        network=_texts(note.get("network")),
        times=_texts(note.get("times")),
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(part)[:300] for part in value) if isinstance(value, list) else ()


def _function_of(test: str) -> tuple[str, str]:
    file, *rest = test.split("[", 1)[0].split("::")
    return file, ".".join(rest)
