"""Calibration: what a correct run looks like, learnt from base's own sealed tests on base's own source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trivet.errors import ProbeError
from trivet.model import Calibrated, Calibration, Failure, RunRecord, TestResult
from trivet.stage.runner import Runner

_MOST_STUCK = 3
_NOT_REACHED = Failure(type="Incomplete", message="base's run ended before this test did")


def calibrate(runner: Runner, tests: Sequence[str]) -> Calibration:
    """Run base once.

    Args:
        runner: stands on base's own tree.
        tests: the sealed test files in manifest order.

    Raises:
        ProbeError: the interpreter or its pytest cannot run at all. A project that the runner itself needs is an exception: its
            broken base is a red base, not a broken host.
    """
    record = runner.run(runner.job(tests))
    check_startable(record, own_runner=bool(runner.stand.own_runner))
    return calibration_of(_to_the_end(runner, tests, record))


def _to_the_end(runner: Runner, tests: Sequence[str], record: RunRecord) -> RunRecord:
    """Run again without the tests in which base's run ended, until it ends by itself.

    A test that hangs or leaves on base hides all that comes after it: what is skipped there, which signs are honest. The patch that mends
    the hang would be blamed for them.
    """
    stuck: dict[str, TestResult] = {}
    for _ in range(_MOST_STUCK):
        ended_in = {result.id: result for result in record.results if result.failure is not None and result.failure.type == "Incomplete"}
        if record.end.how == "closed" or not ended_in.keys() - stuck.keys():
            break
        stuck |= ended_in
        again = runner.run(runner.job(tests, drop=[*(row.id for row in runner.policy.exclude), *stuck]))
        if len(again.results) < len(record.results) - len(ended_in):
            break
        record = replace(again, collected=record.collected, seconds=max(record.seconds, again.seconds))
    seen = {result.id for result in record.results}
    return replace(record, results=(*record.results, *(result for name, result in stuck.items() if name not in seen)))


def check_startable(record: RunRecord, *, own_runner: bool) -> None:
    """Raise ``ProbeError`` when a run of base shows that nothing can be judged on this host."""
    if record.end.how == "refused" and not own_runner:
        missing = "No module named 'pytest'" in record.end.detail
        raise ProbeError(
            record.end.detail,
            where="score.python",
            hint="Install pytest and the project's test requirements into that interpreter's environment." if missing else "",
        )
    started = any(name == "python" for name, _ in record.environment)
    if not started and record.end.how in ("exit", "signal", "protocol"):
        last = record.output.strip().splitlines()[-1:] or [record.end.detail]
        message = f"the project's interpreter does not start behind the wall: {last[0][:300]}"
        raise ProbeError(message, where="score.python", hint="`trivet doctor` says more.")
    elsewhere = [(name.removeprefix("origin:"), value) for name, value in record.environment if name.startswith("origin:")]
    for name, path in elsewhere:
        raise ProbeError(
            f"the sealed tests import {name} from {path}, not from the scoring tree",
            where="score.paths",
            hint=f"An owner adds the folder that holds {name} to score.paths in trivet.toml.",
        )


def calibration_of(record: RunRecord) -> Calibration:
    """What base's run says of each test id; ids that were collected but never reached are red."""
    results: dict[str, TestResult] = {}
    for result in record.results:
        results.setdefault(result.id, result)
    unseen = [name for name in record.collected if name not in results]
    tests = [_calibrated(result) for result in results.values()]
    tests += [Calibrated(id=name, file=name.split("::")[0], outcome="error", seconds=0.0, failure=_NOT_REACHED) for name in unseen]
    return Calibration(
        tests=tuple(tests),
        errors=record.errors,
        end=record.end,
        environment=record.environment,
        seconds=record.seconds,
        signs=record.signs,
        output=record.output[-4000:],
        generated=generated_in(record),
    )


def generated_in(record: RunRecord) -> tuple[str, ...]:
    """The ids of tests with generated inputs, as the probe names them."""
    found: list[str] = []
    for note in record.notes:
        ids = note.get("ids")
        if note.get("k") == "generated" and isinstance(ids, list):
            found += [str(i) for i in ids]
    return tuple(found)


def _calibrated(result: TestResult) -> Calibrated:
    return Calibrated(
        id=result.id,
        file=result.file,
        outcome=result.outcome,
        seconds=result.seconds,
        reason=result.reason,
        env_skip=result.env_skip,
        failure=result.failure,
        by_source=result.by_source,
    )
