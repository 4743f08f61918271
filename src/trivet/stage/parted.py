"""A runner that gives each sealed file the isolation it has: one job becomes one run of the shared files and one of the split files."""

from __future__ import annotations

import copy
import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from trivet.model import Isolation, RunRecord
from trivet.probe import wire
from trivet.stage.runner import PINNED, Runner, Variation


@dataclass(slots=True)
class PartedRunner(Runner):
    """A ``Runner`` for which some sealed files run split.

    Args:
        split_files: paths of the sealed files that run split; all others share their process with the source.
    """

    split_files: frozenset[str] = frozenset()

    def run(self, job: wire.Job, *, variation: Variation = PINNED, pass_fds: tuple[int, ...] = ()) -> RunRecord:
        """Run one job in its parts and return them as one record; see ``runs``."""
        if pass_fds or job.isolation == "split":
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
            return tuple(one.result() for one in found)

    def parts(self, job: wire.Job) -> tuple[wire.Job, ...]:
        """The job itself, or its two halves."""
        apart = [file for file in job.files if file in self.split_files]
        if not apart or job.isolation == "split":
            return (job,)
        if len(apart) == len(job.files):
            job.isolation = "split"
            return (job,)
        return _part(job, [file for file in job.files if file not in self.split_files], "shared"), _part(job, apart, "split")


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
