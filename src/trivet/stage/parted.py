"""A runner that gives each sealed file the isolation it has: one job becomes one run of the shared files and one of the split files."""

from __future__ import annotations

import copy
import os
import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from trivet.model import Calibration, Isolation, RunRecord
from trivet.probe import wire
from trivet.stage.runner import PINNED, Runner, Variation


@dataclass(slots=True)
class PartedRunner(Runner):
    """A ``Runner`` for which some sealed files run split.

    Args:
        split_files: paths of the sealed files that run split; all others share their process with the source.
        weights: seconds that files took on base, to divide a long split part.
    """

    split_files: frozenset[str] = frozenset()
    weights: Mapping[str, float] = field(default_factory=dict)

    def run(self, job: wire.Job, *, variation: Variation = PINNED, pass_fds: tuple[int, ...] = ()) -> RunRecord:
        """Run one job in its parts and return them as one record; see ``runs``."""
        if pass_fds:
            return Runner.run(self, job, variation=variation, pass_fds=pass_fds)
        return joined(self.runs(job, variation=variation))

    def runs(self, job: wire.Job, *, variation: Variation = PINNED) -> tuple[RunRecord, ...]:
        """Run one job as one run for each isolation that its files have, side by side.

        Raises:
            ProbeError: the interpreter cannot be started at all.
        """
        parts = self.parts(job)
        if len(parts) == 1:
            return (Runner.run(self, parts[0], variation=variation),)
        with ThreadPoolExecutor(max_workers=len(parts)) as pool:
            found = [pool.submit(Runner.run, self, part, variation=variation) for part in parts]
            records = [one.result() for one in found]
        by_isolation = ([record for record in records if record.isolation == name] for name in ("shared", "split"))
        return tuple(joined(own) for own in by_isolation if own)

    def parts(self, job: wire.Job) -> tuple[wire.Job, ...]:
        """The job itself, or what of it is shared and what is split; a long split part in two."""
        apart = [file for file in job.files if file in self.split_files or job.isolation == "split"]
        if not apart:
            return (job,)
        shared = [file for file in job.files if file not in frozenset(apart)]
        halves = self._halves(apart)
        if not shared and len(halves) == 1:
            job.isolation = "split"
            return (job,)
        return (*([_part(job, shared, "shared")] if shared else ()), *(_part(job, half, "split") for half in halves))

    def _halves(self, files: Sequence[str]) -> tuple[list[str], ...]:
        """The files in two groups of about the same time in shared isolation, if that is worth a process; always the same for one set."""
        if sum(self.weights.get(file, 0.0) for file in files) < WORTH_S or len(files) < _TWO or (os.cpu_count() or 1) < _TWO:
            return (list(files),)
        groups: tuple[list[str], list[str]] = ([], [])
        spent = [0.0, 0.0]
        for file in sorted(files, key=lambda name: (-self.weights.get(name, 0.0), name)):
            lighter = spent.index(min(spent))
            groups[lighter].append(file)
            spent[lighter] += self.weights.get(file, 0.0)
        return tuple([file for file in files if file in group] for group in groups)


WORTH_S = 0.5
"""Seconds of shared time from which on the split files go to two processes."""
_TWO = 2


def weights_of(calibration: Calibration) -> dict[str, float]:
    """Seconds that each file took on base."""
    found: dict[str, float] = {}
    for test in calibration.tests:
        found[test.file] = found.get(test.file, 0.0) + test.seconds
    return found


def only(record: RunRecord, files: frozenset[str]) -> RunRecord:
    """The record as if only these files had been in it; how it ended stays."""
    return replace(
        record,
        collected=tuple(name for name in record.collected if name.split("::", 1)[0] in files),
        results=tuple(result for result in record.results if result.file in files),
        errors=tuple(error for error in record.errors if error[0] in files),
    )


def _part(job: wire.Job, files: Sequence[str], isolation: Isolation) -> wire.Job:
    part = copy.copy(job)
    kept = frozenset(files)
    part.files, part.isolation, part.nonce = list(files), isolation, secrets.token_hex(16)
    part.controls = [row for row in job.controls if str(row.get("id", "")).split("::", 1)[0] in kept or not row.get("id")]
    part.extra = dict(job.extra)
    return part


def joined(records: Sequence[RunRecord]) -> RunRecord:
    """Several runs of one job as one record: how it ended is how the first that did not end well ended."""
    first = records[0]
    if len(records) == 1:
        return first
    return replace(
        first,
        collected=tuple(name for record in records for name in record.collected),
        results=tuple(result for record in records for result in record.results),
        errors=tuple(error for record in records for error in record.errors),
        signs=tuple(sign for record in records for sign in record.signs),
        end=next((record.end for record in records if record.end.how != "closed" or record.end.detail), first.end),
        seconds=sum(record.seconds for record in records),
        output="".join(record.output for record in records),
        environment=tuple(dict.fromkeys(pair for record in records for pair in record.environment)),
        notes=tuple(note for record in records for note in record.notes),
    )
