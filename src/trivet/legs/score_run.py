"""How runs ended, and what controls, varied runs and fresh inputs say: the part of src-score that is not about single sealed tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from trivet.model import Calibration, Cause, Finding, Level, RunRecord, ScoreEvidence, TestResult
from trivet.rules import RULES

_GREEN: Final = frozenset({"passed", "xpassed"})
_LIMIT_SIGNALS: Final = {"SIGXCPU": "processor time", "SIGXFSZ": "file size"}
_WORDS: Final = {"memory": "memory_b", "processes": "processes", "output": "output_b", "scratch": "scratch_b"}


def _finding(rule: str, message: str, file: str = "", *, level: Level = "error", line: int = 0) -> Finding:
    path = file.encode("utf-8", "surrogateescape") if file else None
    return Finding(rule=rule, message=message, path=path, line=line or None, next=RULES[rule].next, level=level)


def end_findings(run: RunRecord, calibration: Calibration) -> Iterator[tuple[Finding, Cause]]:
    """What is wrong with the way a run ended, its signs, and where its modules came from."""
    if run.end.how != "closed":
        yield _broken_end(run)
    elif run.end.detail:
        yield _finding("TRV208", f"the runner stopped early: {run.end.detail}", _file(run.end.test)), "missing"
    elif not run.collected and not run.errors and not run.results:
        last = run.output.strip().splitlines()[-1:]
        said = f" (last output: {last[0][:200]})" if last else ""
        yield _finding("TRV202", f"no sealed test was collected{said}"), "missing"
    shown = {(sign.kind, sign.detail) for sign in calibration.signs}
    for sign in run.signs:
        blocking = sign.blocking and (sign.kind, sign.detail) not in shown
        yield _finding("TRV204", f"{sign.kind}: {sign.detail}", level="error" if blocking else "note"), "tamper"
    for name, value in run.environment:
        if name.startswith("origin:"):
            module = name.removeprefix("origin:")
            yield _finding("TRV202", f"the sealed tests import {module} from {value}, not from the scoring tree"), "missing"


def _broken_end(run: RunRecord) -> tuple[Finding, Cause]:
    end = run.end
    during = f" while {end.test} ran" if end.test else ""
    name = _WORDS.get(end.limit, end.limit)
    limit = _LIMIT_SIGNALS.get(end.detail)
    rows: dict[str, tuple[str, str, Cause]] = {
        "exit": ("TRV208", f"the process ended by itself with {end.detail}", "missing"),
        "signal": ("TRV208", f"the process was ended by {end.detail}", "missing"),
        "timeout": ("TRV205", end.detail, "limit"),
        "limit": ("TRV205", f"the limit {name} was passed", "limit"),
        "protocol": ("TRV204", f"the record stream was disturbed: {end.detail}", "tamper"),
        "refused": ("TRV208", f"the runner cannot start on this production code: {end.detail}", "property"),
    }
    rule, message, cause = rows[end.how]
    if end.how == "signal" and limit:
        rule, message, cause = "TRV205", f"the limit on {limit} was passed", "limit"
    return _finding(rule, message + during, _file(end.test)), cause


def _file(name: str) -> str:
    return name.split("::", 1)[0]


def outside_findings(evidence: ScoreEvidence, calibration: Calibration) -> Iterator[tuple[Finding, Cause]]:
    """What controls, varied runs and fresh inputs say."""
    yield from _control_findings(evidence)
    yield from _varied_findings(evidence)
    yield from _fresh_findings(evidence, calibration)


def _control_findings(evidence: ScoreEvidence) -> Iterator[tuple[Finding, Cause]]:
    words = {
        "passed": "passed",
        "elsewhere": "failed at another place",
        "skipped": "was skipped",
        "missing": "did not run",
        "timeout": "did not end in time",
    }
    for control in evidence.controls:
        if control.outcome != "red":
            what = f"a copy of {control.id} that must fail at line {control.line} ({control.altered}) {words[control.outcome]}"
            detail = f": {control.detail}" if control.detail else ""
            yield _finding("TRV203", what + detail, control.id.split("::", 1)[0], line=control.line), "tamper"


def _bad(runs: Iterable[RunRecord]) -> dict[str, TestResult]:
    return {result.id: result for run in runs for result in run.results if result.outcome not in _GREEN}


def _varied_findings(evidence: ScoreEvidence) -> Iterator[tuple[Finding, Cause]]:
    if not evidence.varied:
        return
    counted = {result.id: result.outcome for run in evidence.runs for result in run.results}
    base = _bad(evidence.varied_base)
    on_base = {result.id for run in evidence.varied_base for result in run.results}
    varied = {result.id: result for run in evidence.varied for result in run.results}
    for name, outcome in counted.items():
        result = varied.get(name)
        if outcome not in _GREEN or (result is not None and result.outcome in _GREEN):
            continue
        how = result.outcome if result is not None else "not run"
        what = f": {result.failure.type}: {' '.join(result.failure.message.split())[:200]}" if result is not None and result.failure else ""
        message = f"{name} passes in the pinned run and is {how} under another clock, hash seed, order and processor count{what}"
        known = name in base or (bool(evidence.varied_base) and result is None and name not in on_base)
        yield (
            _finding("TRV211", message + (" (as on base)" if known else ""), name.split("::", 1)[0], level="note" if known else "error"),
            "tamper",
        )


def _fresh_findings(evidence: ScoreEvidence, calibration: Calibration) -> Iterator[tuple[Finding, Cause]]:
    on_base = _bad(evidence.fresh_base)
    green_on_base = {test.id for test in calibration.tests if test.outcome in _GREEN}
    for run in evidence.fresh:
        if run.end.how != "closed":
            yield from end_findings(run, calibration)
        for result in run.results:
            if result.outcome in _GREEN:
                if result.by_source:
                    yield _finding("TRV202", f"{result.id} passed, but {result.reason}: they count as not run", result.file), "missing"
                continue
            known = result.id in on_base and result.id in green_on_base
            failure = result.failure
            what = f"{failure.type}: {' '.join(failure.message.split())[:400]}" if failure else result.outcome
            where = " (base fails on the same inputs: the sealed test does not hold there either)" if known else ""
            message = f"{result.id} fails on inputs drawn from seed {evidence.fresh_seed}{where}: {what}"
            level: Level = "warning" if known else "error"
            yield _finding("TRV212", message, result.file, level=level), "property"
