"""The src-score leg: does production code satisfy every sealed property, and did all of them really run?

Pure: it compares what ran with what had to run. Nothing that the run says of itself counts, only its records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from trivet.legs.score_run import end_findings, outside_findings
from trivet.model import Calibrated, Calibration, Cause, Exclude, Finding, Level, RunRecord, ScoreEvidence, Status, TestResult, Verdict
from trivet.rules import RULES

_GREEN: Final = frozenset({"passed", "xpassed"})
_RED: Final = frozenset({"failed", "error"})
_CAUSES: Final[tuple[Cause, ...]] = ("conflict", "tamper", "limit", "environment", "property", "missing")
"""Of several causes the first of these names the verdict."""
MOST: Final = 200
"""Findings of one verdict; what is more is counted."""


def judge(evidence: ScoreEvidence, *, excluded: Sequence[Exclude] = (), controls: str = "sample") -> Verdict:
    """Judge what the walk gathered.

    Args:
        evidence: calibration, runs, controls.
        excluded: sealed tests that base's policy excludes; each is printed on the verdict.
        controls: the policy's word; ``off`` is printed on the verdict.

    Returns:
        PASS only if every sealed test that base collects ran to its end and passed, or is left to flake-lease.
    """
    if evidence.conflicts:
        return _verdict([(_conflict(path), "conflict") for path in evidence.conflicts])
    calibration = evidence.calibration
    if evidence.refused or calibration is None or not evidence.runs:
        finding = Finding(rule="TRV209", message=evidence.refused or "nothing ran", next=RULES["TRV209"].next)
        return Verdict(leg="src-score", status="NOT_RUN", findings=(finding,), cause="infra")
    found = [*_run_findings(evidence, calibration, excluded), *_rerun_findings(evidence), *outside_findings(evidence, calibration)]
    no_cause: Cause = ""
    return _verdict([*found, *((finding, no_cause) for finding in _notes(evidence, excluded, controls))])


def turned_green(evidence: ScoreEvidence) -> tuple[str, ...]:
    """Ids that are red on base and green on head: what the patch fixed. Tests that base could not even collect count as red."""
    if evidence.calibration is None:
        return ()
    base = {test.id: test for test in evidence.calibration.tests}
    return tuple(
        result.id
        for run in evidence.runs
        for result in run.results
        if result.outcome in _GREEN and (result.id not in base or base[result.id].outcome in _RED)
    )


def is_red(evidence: ScoreEvidence) -> bool:
    """Whether the counted runs alone already block."""
    return judge(evidence).status != "PASS"


def _verdict(found: Iterable[tuple[Finding, Cause]]) -> Verdict:
    rows = list(dict.fromkeys(found))
    errors = [cause for finding, cause in rows if finding.level == "error"]
    cause: Cause = next((known for known in _CAUSES if known in errors), "")
    status: Status = "FAIL" if errors else "PASS"
    rows.sort(key=lambda row: (row[0].level != "error", _rank(row[1])))
    findings = [finding for finding, _ in rows]
    if len(findings) > MOST:
        rest = Finding(rule=findings[MOST].rule, message=f"and {len(findings) - MOST} more findings", level=findings[MOST].level)
        findings = [*findings[:MOST], rest]
    return Verdict(leg="src-score", status=status, findings=tuple(findings), cause=cause)


def _rank(cause: Cause) -> int:
    return _CAUSES.index(cause) if cause in _CAUSES else len(_CAUSES)


def _finding(rule: str, message: str, file: str = "", line: int = 0, *, level: Level = "error", then: str = "") -> Finding:
    path = file.encode("utf-8", "surrogateescape") if file else None
    return Finding(rule=rule, message=message, path=path, line=line or None, next=then or RULES[rule].next, level=level)


def _conflict(path: str) -> Finding:
    return _finding("TRV207", f"{path}: head and base changed the same lines", path)


# --- what ran, and what had to run ----------------------------------------------------------------


@dataclass(slots=True)
class _Seen:
    """The counted runs, taken together."""

    results: dict[str, TestResult] = field(default_factory=dict)
    collected: set[str] = field(default_factory=set)
    errors: dict[str, str] = field(default_factory=dict)
    twice: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, runs: Iterable[RunRecord]) -> _Seen:
        seen = cls()
        for run in runs:
            seen.collected.update(run.collected)
            seen.errors.update({file: text for file, text in run.errors if file not in seen.errors})
            for result in run.results:
                if result.id in seen.results:
                    seen.twice.append(result.id)
                seen.results.setdefault(result.id, result)
        return seen


def _run_findings(evidence: ScoreEvidence, calibration: Calibration, excluded: Sequence[Exclude]) -> Iterator[tuple[Finding, Cause]]:
    seen = _Seen.of(evidence.runs)
    for run in evidence.runs:
        yield from end_findings(run, calibration)
    for name in seen.twice:
        yield _finding("TRV204", f"{name} is reported twice", _file(name)), "tamper"
    for file, text in seen.errors.items():
        known = dict(calibration.errors).get(file)
        also = " (base cannot collect it either: that is what this patch has to mend)" if known is not None else ""
        yield _finding("TRV202", f"{file} cannot be collected: {text}{also}", file), "property" if known is not None else "missing"
    base = {test.id: test for test in calibration.tests}
    lost: dict[str, list[str]] = {}
    for test in calibration.tests:
        result = seen.results.get(test.id)
        if result is not None:
            yield from _against(result, test)
        elif "::" in test.id and test.file not in seen.errors:
            lost.setdefault(test.file, []).append(test.id)
    for file, ids in lost.items():
        yield _lost(file, ids, seen), "missing"
    for result in seen.results.values():
        if result.id not in base:
            yield from _against(result, None)
    yield from _empty_files(evidence, calibration, seen, {_file(row.id) for row in excluded})


def _lost(file: str, ids: list[str], seen: _Seen) -> Finding:
    reached = sum(1 for name in ids if name in seen.collected)
    how = "was collected and never ran" if reached else "was not collected"
    more = f" (and {len(ids) - 1} more of this file)" if len(ids) > 1 else ""
    return _finding("TRV202", f"{ids[0]} {how}{more}; base runs it", file)


def _empty_files(
    evidence: ScoreEvidence, calibration: Calibration, seen: _Seen, excluded: set[str]
) -> Iterator[tuple[Finding, Cause]]:
    """A file that base could not collect has no expected ids: it must bring some now.

    A file of which base collects nothing that its own policy does not exclude has nothing to bring.
    """
    files = {_file(name) for name in seen.results}
    known = {test.file for test in calibration.tests}
    broken = {file for file, _ in calibration.errors}
    for file in dict.fromkeys([*broken, *evidence.files]):
        if file in excluded and file not in broken:
            continue
        if file not in files and file not in known and file not in seen.errors:
            yield _finding("TRV202", f"{file} brought no test", file), "missing"


def _against(result: TestResult, test: Calibrated | None) -> Iterator[tuple[Finding, Cause]]:
    """One result against what base shows of the same id (None: base does not know the id)."""
    file = result.file
    if result.outcome in _GREEN:
        if result.by_source and (test is None or not test.by_source):
            yield _finding("TRV202", f"{result.id} passed, but {result.reason}: they count as not run", file), "missing"
        return
    if result.failure is not None and result.failure.type == "Incomplete":
        yield _finding("TRV202", f"{result.id} started and did not run to its end", file), "missing"
        return
    if result.outcome in _RED:
        yield _red(result, test), "property"
        return
    word = "skipped" if result.outcome == "skipped" else "expected to fail"
    if result.by_source and (test is None or not test.by_source):
        message = f"{result.id} was {word} by production code: {result.reason or 'no reason given'}"
        yield _finding("TRV202", message, file), "missing"
    elif (
        test is not None and test.outcome not in ("skipped", "xfailed") and not (result.outcome == "xfailed" and test.outcome == "xpassed")
    ):
        where = "runs" if test.outcome in _GREEN else "runs (red)"
        yield _finding("TRV202", f"{result.id} was {word}, but base {where} it: {result.reason or 'no reason given'}", file), "missing"


def _red(result: TestResult, test: Calibrated | None) -> Finding:
    failure = result.failure
    what = f"{failure.type}: {failure.message}" if failure else "failed"
    before = ""
    if test is not None and test.outcome in _RED:
        before = " (red on base as well)"
    elif test is not None and test.outcome in _GREEN:
        before = " (green on base)"
    line = failure.line if failure and failure.file == result.file else 0
    return _finding("TRV201", f"{result.id}{before}: {_short(what)}", result.file, line)


def _short(text: str, most: int = 300) -> str:
    first = " ".join(text.split())
    return first if len(first) <= most else first[: most - 1] + "…"


def _file(name: str) -> str:
    return name.split("::", 1)[0]


# --- reruns and notes -----------------------------------------------------------------------------


def _outcomes(runs: Iterable[RunRecord]) -> dict[str, str]:
    return {result.id: result.outcome for run in runs for result in run.results}


def _rerun_findings(evidence: ScoreEvidence) -> Iterator[tuple[Finding, Cause]]:
    """A red run that is not red in the same way again is an environment leak. It stays red."""
    first = _outcomes(evidence.runs)
    facts = {name: value for run in evidence.runs for name, value in run.environment}
    for number, again in enumerate(evidence.reruns, start=2):
        other = _outcomes(again)
        changed = sorted(name for name in first.keys() | other.keys() if first.get(name) != other.get(name))
        for name in changed[:20]:
            message = (
                f"{name} was {first.get(name, 'absent')} in run 1 and {other.get(name, 'absent')} in run {number}, under one replay key"
            )
            yield _finding("TRV206", message, _file(name)), "environment"
        for name, value in sorted({pair for run in again for pair in run.environment}):
            if facts.get(name, value) != value:
                yield _finding("TRV206", f"the environment changed between runs: {name} was {facts[name]} and is {value}"), "environment"


def _notes(evidence: ScoreEvidence, excluded: Sequence[Exclude], controls: str) -> Iterator[Finding]:
    for row in excluded:
        yield _finding("TRV210", f"{row.id} is excluded by policy: {row.reason}", _file(row.id), level="note")
    if controls == "off":
        yield _finding("TRV213", "negative controls are off", level="warning")
    if evidence.wall is not None and evidence.wall.name == "none":
        yield _finding("TRV214", "code under test runs without a wall", level="warning")
