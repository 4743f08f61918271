"""Which sealed files run split: the policy's word, and under ``auto`` what base's own run through the split shows."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from trivet.model import Calibrated, Calibration, RunRecord, ScorePolicy, TestResult
from trivet.stage.runner import Runner
from trivet.zones import match

CANNOT = "SplitUnsupported"
"""The exception by which a test says that something cannot cross."""
FLOOR_S = 0.2
"""Seconds that every file may take: below them its time is start-up and noise, and no share of a suite's time."""

TRIAL_S = 4.0
"""Seconds that a process may spend on finding out which files can run split, or as long as base's own run if that is longer."""
_PATIENCE_S = 5.0

_GREEN = ("passed", "xpassed")
_BROKEN = (CANNOT, "SubjectGone", "SubjectDecided", "Incomplete")


def asked(policy: ScorePolicy, file: str) -> Literal["shared", "split", "auto"]:
    """What the policy says of one sealed file; the last override that matches counts."""
    found = policy.isolation
    for row in policy.override:
        if match((row.path,), file):
            found = row.isolation
    return found


def candidates(policy: ScorePolicy, calibration: Calibration, files: Sequence[str]) -> tuple[str, ...]:
    """The files whose isolation base has to show: ``auto``, and collected without an error."""
    errors = {file for file, _ in calibration.errors}
    known = {test.file for test in calibration.tests}
    return tuple(file for file in files if asked(policy, file) == "auto" and file in known and file not in errors)


def split_files(policy: ScorePolicy, calibration: Calibration, files: Sequence[str]) -> frozenset[str]:
    """The files that run split: those that must, and those that may and can."""
    can = frozenset(calibration.split_files)
    return frozenset(file for file in files if asked(policy, file) == "split" or (asked(policy, file) == "auto" and file in can))


def calibrated(runner: Runner, calibration: Calibration, policy: ScorePolicy, files: Sequence[str]) -> Calibration:
    """Run base's candidates split, once; the calibration with what each test showed and the files that can.

    Args:
        runner: stands on base's own tree.
        calibration: base's run in shared isolation.
        policy: isolation, overrides and ``split_budget``.
        files: the sealed files in manifest order.
    """
    if runner.stand.own_runner:
        return calibration  # the runner itself is of the source: the judge's process would hold it, apart or not
    # Tests that lie inside of the package under test are imported with it, in the subject: there is no line to split along.
    roots = [os.path.relpath(root, runner.stand.root) for root in runner.stand.source_roots]
    inner = [root for root in roots if root != "."]
    unsure = compares_identity(runner.stand.root, calibration)
    wanted = tuple(
        file
        for file in candidates(policy, calibration, files)
        if file not in unsure and not _has_recordings(runner, file) and not any(file.startswith(root + "/") for root in inner)
    )
    if not wanted:
        return calibration
    trial = terms(calibration, policy.split_budget, wanted)
    longest = min(policy.test_timeout_s, max(_PATIENCE_S, *trial["seconds"].values()))
    record = runner.run(runner.job(wanted, isolation="split", trial=trial, test_timeout_s=longest))
    return judged(calibration, record, policy.split_budget, wanted)


def _has_recordings(runner: Runner, file: str) -> bool:
    """Recorded HTTP exchanges are replayed in the judge's process: what asks for them has to be there."""
    folder = runner.stand.recordings
    return bool(folder) and (runner.stand.root / folder / file.removesuffix(".py")).is_dir()


def compares_identity(root: Path, calibration: Calibration) -> frozenset[str]:
    """Files with a test that is red on base and compares two values by identity.

    Plain values lose their identity on the way, and base cannot show what such a test does once it is green.
    """
    red: dict[str, set[str]] = {}
    for test in calibration.tests:
        if test.outcome in ("failed", "error"):
            red.setdefault(test.file, set()).add(test.id.split("[", 1)[0].rpartition("::")[2])
    return frozenset(file for file, names in red.items() if _uses_identity(root / file, names))


def _uses_identity(path: Path, names: set[str]) -> bool:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return True
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in names)
    return any(_is_identity(node) for function in functions for node in ast.walk(function))


def _is_identity(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return getattr(node.func, "attr", "") in ("assertIs", "assertIsNot")
    if not isinstance(node, ast.Compare) or not any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
        return False
    return not any(isinstance(side, ast.Constant) for side in (node.left, *node.comparators))


def cannot_cross(record: RunRecord) -> frozenset[str]:
    """Files of a split run with a test that met something that cannot cross; they run shared after all."""
    return frozenset(
        result.file
        for result in record.results
        if record.isolation == "split" and result.failure is not None and result.failure.type.rpartition(".")[2] == CANNOT
    )


def terms(calibration: Calibration, budget: float, wanted: Sequence[str]) -> dict[str, Any]:
    """The terms of the trial: a file that breaks them is left at once, so that finding out stays cheap."""
    shared: dict[str, float] = dict.fromkeys(wanted, 0.0)
    for test in calibration.tests:
        if test.file in shared:
            shared[test.file] += test.seconds
    green = [test.id for test in calibration.tests if test.file in shared and test.outcome in _GREEN]
    seconds = {file: budget * max(spent, FLOOR_S) for file, spent in shared.items()}
    return {"seconds": seconds, "total": max(TRIAL_S, sum(shared.values())), "green": green}


def judged(calibration: Calibration, record: RunRecord, budget: float, wanted: Iterable[str]) -> Calibration:
    """Compare base's split run with its shared one.

    A file can run split if each of its tests ends as it does in shared isolation, none met something that cannot cross, and its time
    keeps to the budget.
    """
    results = {result.id: result for result in record.results}
    tests, bad = [], set[str]()
    wanted = frozenset(wanted)
    spent: dict[str, list[float]] = {}
    for test in calibration.tests:
        if test.file not in wanted:
            tests.append(test)
            continue
        result = results.get(test.id)
        mark, note = _mark(test, result)
        tests.append(replace(test, split=mark, split_note=note))
        if mark != "passes":
            bad.add(test.file)
        times = spent.setdefault(test.file, [0.0, 0.0])
        times[0] += test.seconds
        times[1] += result.seconds if result is not None else 0.0
    bad |= {file for file, (shared, apart) in spent.items() if apart > budget * max(shared, FLOOR_S)}
    bad |= {file for file, _ in record.errors}
    if record.end.how != "closed":
        done = {result.file for result in record.results} if record.end.how == "timeout" else set()
        bad |= {file for file in wanted if file not in done or record.end.test.startswith(file)}
    return replace(calibration, tests=tuple(tests), split_files=tuple(sorted(wanted - bad)))


def _mark(test: Calibrated, result: TestResult | None) -> tuple[Literal["passes", "fails", "cannot", "unknown"], str]:
    """``passes``: ends as in shared isolation (a test that is red on base must be red for the same reason)."""
    if result is None:
        return "unknown", "it did not run split"
    failure = result.failure
    if failure is not None and failure.type.rpartition(".")[2] in _BROKEN:
        return "cannot", failure.message[:300]
    if result.outcome == test.outcome and (test.failure is None or failure is None or test.failure.type == failure.type):
        return "passes", ""
    why = f"{failure.type}: {failure.message[:200]}" if failure is not None else result.reason[:200]
    return "fails", f"{result.outcome} split, {test.outcome} shared: {why}"
