"""Run negative controls: the admission on base, and the controls of a head run. Two calls for the walk.

Both take ``run``, which runs one batch: ``run(files, fields)`` starts a run of these sealed files with these fields of a ``wire.Job`` and
returns its record. ``runner_of`` makes one from a ``Runner``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Literal

from trivet.model import Calibration, ControlResult, RunRecord
from trivet.stage import controls
from trivet.stage.controls import Book, Planned

Run = Callable[[tuple[str, ...], Mapping[str, Any]], RunRecord]

_HANGS = 3
"""Controls that may end their run early before the rest counts as not seen red."""


def job_fields(batch: Iterable[Planned], *, order_seed: int) -> dict[str, object]:
    """The fields of a ``wire.Job`` that runs one batch; its files are ``files_of(batch)``."""
    planned = tuple(batch)
    return {"mode": "control", "controls": [one.wire() for one in planned], "ids": [one.id for one in planned], "order_seed": order_seed}


def files_of(batch: Iterable[Planned]) -> tuple[str, ...]:
    """The sealed files of a batch, in the order of their first control."""
    return tuple(dict.fromkeys(controls.file_of(one.id) for one in batch))


def runner_of(runner: Any) -> Run:
    """Run batches on a ``Runner`` (see ``stage.runner``)."""

    def run(files: tuple[str, ...], fields: Mapping[str, Any]) -> RunRecord:
        record: RunRecord = runner.run(runner.job(files, **fields))
        return record

    return run


def admit(
    book: Book,
    calibration: Calibration,
    run: Run,
    *,
    seed: int = 0,
    note: Callable[[str], None] = lambda _: None,
    attempts: Iterable[int] = range(controls.ATTEMPTS),
) -> Calibration:
    """Find out on base which tests have a working control; the calibration with its ``controls`` filled in.

    Runs base at most ``controls.ATTEMPTS`` times, the later times only for tests that still have none. ``note`` gets one line: how many
    of the passing tests have a control, and how many of these only a canary. ``attempts``: which of the attempts to make, for a quick look.
    """
    passing = [test.id for test in calibration.tests if test.outcome == "passed" and "::" in test.id]
    admitted: dict[str, tuple[tuple[str, int], ...]] = {}
    for attempt in attempts:
        batch = controls.admission(book, passing, attempt, admitted)
        for record, part in _runs(batch, run, seed + attempt):
            for test, keys in controls.seen_red(record, part).items():
                admitted[test] = (*admitted.get(test, ()), *keys)
    canaries = sum(all(kind == "canary" for kind, _ in keys) for keys in admitted.values())
    note(f"negative controls: {len(admitted)} of {len(passing)} passing tests, {canaries} of them with a canary only")
    return replace(calibration, tests=tuple(replace(test, controls=admitted.get(test.id, ())) for test in calibration.tests))


def judge(
    book: Book, calibration: Calibration, passed: Iterable[str], run: Run, *, mode: Literal["all", "sample", "off"], secret: int
) -> tuple[ControlResult, ...]:
    """Run the controls of a head run; every result that is not ``red`` is a sign of tampering.

    Args:
        book: the alterations of the sealed tree.
        calibration: base's, with admitted controls.
        passed: ids that passed on head in this isolation.
        run: runs one batch on the scoring tree.
        mode: the policy's ``controls``.
        secret: drawn by the judge for this run.
    """

    def results_of(number: int, batch: tuple[Planned, ...]) -> tuple[ControlResult, ...]:
        rows = tuple(row for record, part in _runs(batch, run, secret + number) for row in controls.read_results(record, part))
        if not doubtful(rows):
            return rows
        return settle(rows, run(files_of(batch), {"ids": [one.id for one in batch], "order_seed": _order(secret + number)}))

    batches = controls.plan(book, calibration, passed, mode=mode, secret=secret)
    with ThreadPoolExecutor(max_workers=2) as pool:
        return tuple(row for part in pool.map(results_of, range(len(batches)), batches) for row in part)


def doubtful(results: Iterable[ControlResult]) -> tuple[str, ...]:
    """Ids whose control failed elsewhere, or whose negated condition held in this company: run the originals, and ``settle``."""
    return tuple(row.id for row in results if _doubtful(row))


def _doubtful(row: ControlResult) -> bool:
    return row.outcome in ("elsewhere", "skipped") or (row.outcome == "passed" and row.kind == "negate")


def settle(results: Iterable[ControlResult], originals: RunRecord) -> tuple[ControlResult, ...]:
    """Drop doubtful controls whose unaltered test does not pass in that company either: it needs other tests before it."""
    passing = {result.id for result in originals.results if result.outcome == "passed"}
    return tuple(row for row in results if not _doubtful(row) or row.id in passing)


def confirmed(book: Book, results: Iterable[ControlResult], base: Run, *, seed: int) -> frozenset[tuple[str, str, int]]:
    """Of controls that were not red on head, those that are red on base: (id, kind, line). The others prove nothing.

    Args:
        book: the alterations of the sealed tree.
        results: what ``judge`` said of head.
        base: runs one batch on base.
        seed: of the order of tests.
    """
    keys = {(row.id, row.kind, row.line) for row in results}
    batch = tuple(one for row in results for one in book.of(row.id) if (row.id, one.kind, one.line) in keys)
    rows = (row for record, part in _runs(batch, base, seed) for row in controls.read_results(record, part))
    return frozenset((row.id, row.kind, row.line) for row in rows if row.outcome == "red")


def _runs(batch: tuple[Planned, ...], run: Run, seed: int) -> Iterable[tuple[RunRecord, tuple[Planned, ...]]]:
    """Run a batch; after a control that hangs or ends its process, run the others once more. Yields (record, what it answers for)."""
    rest = batch
    for turn in range(_HANGS):
        if not rest:
            return
        record = run(files_of(rest), job_fields(rest, order_seed=_order(seed)))
        left = controls.unfinished(record, rest) if turn < _HANGS - 1 and record.end.test else ()
        yield record, tuple(one for one in rest if one not in left)
        rest = left


def _order(seed: int) -> int:
    return random.Random(seed).randrange(2**31)  # noqa: S311  # an order, not a secret
