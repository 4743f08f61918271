"""What a green run is asked besides: inputs from an unknown seed, another environment, and leased tests with their marks lifted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trivet.model import LeaseMatch, RunRecord, ScoreEvidence, TestResult
from trivet.stage.calibrate import generated_in
from trivet.stage.runner import Runner, Variation

_GREEN = ("passed", "xpassed")
_WEEK_S = 7 * 86_400
_SALT = 0x5EED


def fresh(runner: Runner, found: ScoreEvidence) -> tuple[RunRecord, ...]:
    """Run the generated tests that passed on ``score.fresh`` examples from the evidence's seed."""
    passed = {result.id for run in found.runs for result in run.results if result.outcome in _GREEN}
    ids = [name for run in found.runs for name in generated_in(run) if name in passed]
    if not ids or not runner.policy.fresh:
        return ()
    job = runner.job(files_of(ids, found.files), ids=ids, fresh=runner.policy.fresh, fresh_seed=found.fresh_seed)
    return (runner.run(job),)


def variation(secret: int) -> Variation:
    """Another clock (at least a week off), hash seed, test order and processor count, by the secret."""
    mixed = secret ^ _SALT
    return Variation(
        hash_seed=1 + mixed % 4_000_000_000,
        clock_shift_s=_WEEK_S + mixed % (40 * 86_400) + 3_661,
        order_seed=mixed % 2**31,
        one_cpu=True,
        fold="v",
    )


def varied(runner: Runner, found: ScoreEvidence, secret: int) -> tuple[RunRecord, ...]:
    """Run all sealed files once under another environment, where the policy asks for it."""
    if not runner.policy.vary:
        return ()
    other = variation(secret)
    return (runner.run(runner.job(found.files, variation=other), variation=other),)


def differs(found: ScoreEvidence) -> bool:
    """Whether a test that passed in the counted run did not in the varied one."""
    if not found.varied:
        return False
    green = {result.id for run in found.varied for result in run.results if result.outcome in _GREEN}
    return any(result.outcome in _GREEN and result.id not in green for run in found.runs for result in run.results)


def lifted(runner: Runner, found: ScoreEvidence, leases: Sequence[LeaseMatch]) -> tuple[TestResult, ...]:
    """Run leased tests that ended skipped or xfailed with their marks lifted; what passes then is run again, ``score.reruns`` times.

    A test that fails in any of these runs still needs its lease.
    """
    ids = [
        result.id
        for run in found.runs
        for result in run.results
        if result.outcome in ("skipped", "xfailed") and "::" in result.id and any(_covers(match, result.id) for match in leases)
    ]
    if not ids:
        return ()
    results: list[TestResult] = []
    for _ in range(1 + runner.policy.reruns):
        record = runner.run(runner.job(files_of(ids, found.files), ids=ids, lift=ids))
        results += [result for result in record.results if result.lifted]
        ids = [result.id for result in record.results if result.lifted and result.outcome in _GREEN]
        if not ids:
            break
    return tuple(results)


def files_of(ids: Iterable[str], files: Sequence[str]) -> tuple[str, ...]:
    """The files of some ids, in the order of the manifest."""
    wanted = {name.split("::", 1)[0] for name in ids}
    return tuple(file for file in files if file in wanted)


def _covers(match: LeaseMatch, name: str) -> bool:
    file, *rest = name.split("[", 1)[0].split("::")
    function = ".".join(rest)
    return (
        match.lease is not None
        and match.file == file
        and (match.function in ("", "<module>", function) or function.startswith(match.function + "."))
    )
