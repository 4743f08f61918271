"""Admission: may an oracle change become the new measure? Pure; three verdicts like those of a patch.

oracle-integrity: an owner stands behind it, head's own manifests, policy, ledger and owners are in step, each new or changed property can
refuse. src-score: on base's source, what was green and is unchanged stays green; what is new and red is a specification. flake-lease is
judged by its own leg, over head's ledger and head's sealed tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from trivet.legs.authority import Standing
from trivet.model import Calibrated, Calibration, Cause, Drift, Finding, Level, Status, Verdict, text_of
from trivet.rules import RULES

_GREEN = frozenset({"passed", "xpassed"})
_RED = frozenset({"failed", "error"})
MOST = 200
"""Findings of one verdict; what is more is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One sealed test function of head. ``state`` tells it apart from base's: what it reaches in the sealed tree may have changed too."""

    file: str
    function: str
    line: int
    state: Literal["new", "changed", "same"]
    faults: tuple[Drift, ...] = ()
    reads: bool = False
    """An assertion reads a value of production code, so that it can hold without a call."""
    known: frozenset[str] = frozenset()
    """Rules that the same test already broke on base: told as warnings."""

    @property
    def name(self) -> str:
        """``file::Class::function``."""
        return f"{self.file}::{self.function.replace('.', '::')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Varied:
    """Outcomes of the new and changed tests under one other environment: what was different, and outcome by test id."""

    what: str
    outcomes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """What one test was seen to do: production functions it executed (some, and how many), network and clocks it asked itself.

    ``unseen``: it started processes, or ran longer than it was watched, so more may have been executed.
    """

    id: str
    outcome: str
    functions: tuple[str, ...] = ()
    count: int = 0
    unseen: bool = False
    network: tuple[str, ...] = ()
    times: tuple[str, ...] = ()

    @property
    def idle(self) -> bool:
        """Certainly no production code was executed."""
        return not self.count and not self.unseen


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """What the runs showed. ``base``: base's oracle on base's source; ``head``: head's oracle on base's source. ``refused``: why none."""

    base: Calibration | None = None
    head: Calibration | None = None
    varied: tuple[Varied, ...] = ()
    controlled: bool = False
    """Controls were tried, so a green property without one cannot be refuted."""
    alterable: frozenset[str] = frozenset()
    """Ids of which an altered copy could be made (not only one whose first statement fails)."""
    refused: str = ""
    tried: tuple[tuple[str, int], ...] = ()
    """Test id → how many altered copies were run."""
    traced: tuple[Traced, ...] = ()
    idle_on_base: frozenset[str] = frozenset()
    """Ids that executed no production code before the change either."""
    opaque: bool = False
    """Production code is compiled, in part or whole, so that not every function of it is seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionEvidence:
    """All that admission judges."""

    standing: Standing
    findings: tuple[Finding, ...] = ()
    """Of names and of head's seal, as oracle-integrity's leg words them."""
    owners: tuple[Drift, ...] = ()
    unowned: tuple[bytes, ...] = ()
    unreadable: tuple[Drift, ...] = ()
    twins: tuple[Drift, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    removed: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    ledger_moved: bool = False
    ends_moved: tuple[Drift, ...] = ()
    """Leases that get a later end in the change that alters their test."""
    fixtures_moved: bool = False
    """Sealed data moved: a test whose text is the same may say something new."""
    trials: Trials = field(default_factory=Trials)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What is known about one new or changed property.

    ``controls``: how many of the ``tried`` altered copies failed as they must. ``executes``: production functions it was seen to run.
    ``steady``: under which other environments its outcome was the same. ``faults``: the rules that speak against it.
    """

    property: str
    state: str
    outcome: Literal["green", "specification", "not run"]
    controls: int
    tried: int
    executes: int
    steady: tuple[str, ...]
    faults: tuple[str, ...]


def judge_integrity(evidence: AdmissionEvidence) -> Verdict:
    """Judge authority, head's manifests and owners, and every new or changed property."""
    findings = [*evidence.standing.findings, *evidence.findings]
    findings += [_of_drift(drift) for drift in (*evidence.owners, *evidence.unreadable, *evidence.twins)]
    findings += _unowned(evidence.unowned)
    for candidate in evidence.candidates:
        findings += _faults(candidate)
    findings += _trial_findings(evidence)
    if evidence.removed:
        names = ", ".join(evidence.removed[:5]) + (f" and {len(evidence.removed) - 5} more" if len(evidence.removed) > 5 else "")  # noqa: PLR2004
        findings.append(_finding("TRV126", f"{len(evidence.removed)} sealed tests are gone: {names}", level="note"))
    return _verdict("oracle-integrity", findings)


def judge_score(evidence: AdmissionEvidence) -> Verdict:
    """Judge head's oracle on base's source."""
    if evidence.conflicts:
        rows = [
            _finding("TRV207", f"{path}: head and base changed the same lines", path=path.encode("utf-8", "surrogateescape"))
            for path in evidence.conflicts
        ]
        return _verdict("src-score", rows, "conflict")
    base, head = evidence.trials.base, evidence.trials.head
    if base is None or head is None:
        finding = _finding("TRV209", evidence.trials.refused or "nothing ran")
        return Verdict(leg="src-score", status="NOT_RUN", findings=(finding,), cause="infra")
    findings = [*_ended(head), *_errors(evidence, base, head), *_outcomes(evidence, base, head), *_uncollected(evidence, base, head)]
    if evidence.ledger_moved:
        findings += _previous(base)
    cause: Cause = "property" if any(finding.level == "error" for finding in findings) else ""
    return _verdict("src-score", findings, cause)


def certificates(evidence: AdmissionEvidence) -> tuple[Certificate, ...]:
    """One certificate for each new or changed property."""
    tests = _by_function(evidence.trials.head)
    blocking = [finding for finding in _trial_findings(evidence) if finding.level == "error"]
    rows = []
    for candidate in evidence.candidates:
        if candidate.state == "same":
            continue
        mine = tests.get((candidate.file, candidate.function), [])
        outcome: Literal["green", "specification", "not run"] = "not run"
        if mine:
            outcome = "specification" if any(test.outcome in _RED for test in mine) else "green"
        told = [finding.rule for finding in blocking if _is_about(finding, candidate)]
        ids = {test.id for test in mine}
        rows.append(
            Certificate(
                property=candidate.name,
                state=candidate.state,
                outcome=outcome,
                controls=sum(map(_refuting, mine)),
                tried=sum(count for name, count in evidence.trials.tried if name in ids),
                executes=max((row.count for row in evidence.trials.traced if row.id in ids), default=0),
                steady=tuple(row.what for row in evidence.trials.varied if _agrees(row, mine)) if mine else (),
                faults=tuple(sorted({*(fault.rule for fault in candidate.faults), *told})),
            )
        )
    return tuple(rows)


def _is_about(finding: Finding, candidate: Candidate) -> bool:
    own = re.escape(candidate.name) + r"(?!\w|::)"
    return candidate.file == text_of(finding.path or b"") and re.match(own, finding.message) is not None


def _agrees(varied: Varied, mine: Sequence[Calibrated]) -> bool:
    outcomes = dict(varied.outcomes)
    return all((outcomes.get(test.id, test.outcome) in _GREEN) == (test.outcome in _GREEN) for test in mine)


# --- the written half ---------------------------------------------------------------------------


def _faults(candidate: Candidate) -> Iterator[Finding]:
    if candidate.state == "same":
        return
    for fault in candidate.faults:
        finding = _of_drift(fault)
        if fault.rule in candidate.known and finding.level == "error":
            finding = _finding(fault.rule, f"{fault.message} (as on base)", path=finding.path, line=finding.line, level="warning")
        yield finding


def _unowned(paths: Sequence[bytes]) -> Iterator[Finding]:
    for path in paths[:20]:
        yield _finding("TRV116", f"head's CODEOWNERS names nobody for {text_of(path)}", path=path)
    if len(paths) > 20:  # noqa: PLR2004
        yield _finding("TRV116", f"and nobody for {len(paths) - 20} more sealed paths")


# --- the run half -------------------------------------------------------------------------------


def _trial_findings(evidence: AdmissionEvidence) -> Iterator[Finding]:
    trials = evidence.trials
    tests = _by_function(trials.head)
    for candidate in evidence.candidates:
        mine = tests.get((candidate.file, candidate.function), [])
        if candidate.state == "same" or not mine:
            continue
        where = candidate.file.encode("utf-8", "surrogateescape")
        green = all(test.outcome in _GREEN for test in mine)
        if trials.controlled and green and not any(map(_refuting, mine)) and not candidate.faults:
            tried = any(test.id in trials.alterable for test in mine)
            text = "no altered copy of it fails" if tried else "no altered copy of it can be made, so nobody knows whether it can fail"
            level: Level = "error" if tried and "TRV120" not in candidate.known else "warning"
            yield _finding("TRV120", f"{candidate.name}: {text}", path=where, line=candidate.line, level=level)
    yield from _changing(evidence)
    yield from _seen(evidence)
    for drift in evidence.ends_moved:
        yield _finding(drift.rule, drift.message, path=drift.path.encode("utf-8", "surrogateescape"), line=drift.line)
    if evidence.ledger_moved and trials.base is not None:
        red = [test.id for test in trials.base.tests if test.outcome in _RED]
        if red:
            yield _finding("TRV125", f"the ledger moves while src-score is red under the ledger on base: {red[0]} and {len(red) - 1} more")


def _seen(evidence: AdmissionEvidence) -> Iterator[Finding]:
    """What the properties were seen to do, or not to do, while they ran."""
    trials = evidence.trials
    traces = {row.id: row for row in trials.traced}
    tests = _by_function(trials.head)
    for row in evidence.candidates:
        mine = tests.get((row.file, row.function), [])
        seen = [traces[test.id] for test in mine if test.id in traces]
        if row.state == "same" or not seen:
            continue
        where = row.file.encode("utf-8", "surrogateescape")
        told = {fault.rule for fault in row.faults}
        if "TRV124" not in told and (asks := [what for trace in seen for what in _asks(trace)]):
            yield _finding("TRV124", f"{row.name} {asks[0]}", path=where, line=row.line)
        if trials.opaque or told & {"TRV120", "TRV121", "TRV122"} or len(seen) < len(mine):
            continue
        if not all(trace.idle and trace.outcome in _GREEN for trace in seen):
            continue
        known = all(trace.id in trials.idle_on_base for trace in seen)
        text = "reads values of production code and runs none of it" if row.reads else "passes, and no production code runs meanwhile"
        level: Level = "note" if row.reads else "warning" if known else "error"
        yield _finding("TRV122", f"{row.name} {text}", path=where, line=row.line, level=level)


def _asks(trace: Traced) -> tuple[str, ...]:
    """What of network and time a test asked itself; a socket that is opened and not used says something only where the test is red."""
    network = [what for what in trace.network if trace.outcome not in _GREEN or not what.startswith("opens a socket")]
    return (*network, *(f"calls {name}, which asks real time" for name in trace.times))


def _refuting(test: Calibrated) -> int:
    """How many altered copies failed because of what they assert; a copy whose first statement fails says nothing of the assertions."""
    return sum(kind.partition("@")[0] != "canary" for kind, _ in test.controls)


def _changing(evidence: AdmissionEvidence) -> Iterator[Finding]:
    if evidence.trials.head is None:
        return
    pinned = {test.id: test.outcome for test in evidence.trials.head.tests}
    moved = {(row.file, row.function) for row in evidence.candidates if row.state != "same"}
    for varied in evidence.trials.varied:
        told: set[tuple[str, str]] = set()
        for name, outcome in varied.outcomes:
            key = _function_of(name)
            if key in moved and key not in told and name in pinned and (outcome in _GREEN) != (pinned[name] in _GREEN):
                told.add(key)
                path = key[0].encode("utf-8", "surrogateescape")
                yield _finding("TRV123", f"{name} ended {pinned[name]}, and {outcome} under {varied.what}", path=path)


def _ended(head: Calibration) -> Iterator[Finding]:
    if head.end.how != "closed":
        rule = "TRV205" if head.end.how in ("limit", "timeout") else "TRV208"
        at = f" in {head.end.test}" if head.end.test else ""
        yield _finding(rule, f"the run of head's oracle ended early ({head.end.how}{at}): {head.end.detail}")


def _errors(evidence: AdmissionEvidence, base: Calibration, head: Calibration) -> Iterator[Finding]:
    known = {file for file, _ in base.errors}
    moved = {row.file for row in evidence.candidates if row.state != "same"}
    for file, text in head.errors:
        path = file.encode("utf-8", "surrogateescape")
        if file in known or (file in moved and _lacks_production(text)):
            yield _finding("TRV201", f"specification: {file} cannot be collected on base's source: {text}", path=path, level="note")
        else:
            yield _finding("TRV202", f"{file} cannot be collected: {text}", path=path)


def _lacks_production(text: str) -> bool:
    """A collection error that says that production code lacks a module or a name: what the next patch has to bring."""
    return any(word in text for word in ("ImportError", "ModuleNotFoundError", "AttributeError", "cannot import name", "No module named"))


def _outcomes(evidence: AdmissionEvidence, base: Calibration, head: Calibration) -> Iterator[Finding]:
    before = {test.id: test for test in base.tests}
    same = {(row.file, row.function) for row in evidence.candidates if row.state == "same"}
    for test in head.tests:
        if test.outcome not in _RED:
            continue
        file, function = _function_of(test.id)
        old = before.get(test.id)
        why = f": {test.failure.type}: {test.failure.message[:300]}" if test.failure else ""
        path = file.encode("utf-8", "surrogateescape")
        if old is not None and old.outcome in _RED:
            continue
        if (file, function) in same and old is not None and old.outcome in _GREEN and not evidence.fixtures_moved:
            yield _finding("TRV201", f"{test.id} is unchanged, was green and is red under head's oracle{why}", path=path)
        else:
            yield _finding("TRV201", f"specification: {test.id} is red on base's source{why}", path=path, level="note")


def _uncollected(evidence: AdmissionEvidence, base: Calibration, head: Calibration) -> Iterator[Finding]:
    """Tests that are written in head and did not run, though base runs them or they are new; what policy excludes runs on neither side."""
    after, before = _by_function(head), _by_function(base)
    failed = {file for file, _ in head.errors}
    whole = {test.file for test in head.tests if "::" not in test.id}
    for row in evidence.candidates:
        key = (row.file, row.function)
        if key in after or row.file in failed or row.file in whole or (row.state != "new" and key not in before):
            continue
        path = row.file.encode("utf-8", "surrogateescape")
        yield _finding("TRV202", f"{row.name} is written but does not run", path=path, line=row.line)


def _previous(base: Calibration) -> Iterator[Finding]:
    if base.end.how != "closed":
        yield _finding("TRV208", f"base's own run did not close ({base.end.how}), so the previous ledger has no PASS")
    for test in base.tests:
        if test.outcome in _RED:
            yield _finding("TRV201", f"{test.id} is red under the previous ledger", path=test.file.encode("utf-8", "surrogateescape"))


# --- small things -------------------------------------------------------------------------------


def _function_of(test: str) -> tuple[str, str]:
    file, *rest = test.split("[", 1)[0].split("::")
    return file, ".".join(rest)


def _by_function(calibration: Calibration | None) -> dict[tuple[str, str], list[Calibrated]]:
    found: dict[tuple[str, str], list[Calibrated]] = {}
    for test in calibration.tests if calibration else ():
        found.setdefault(_function_of(test.id), []).append(test)
    return found


def _finding(rule: str, message: str, *, path: bytes | None = None, line: int | None = None, level: Level = "error") -> Finding:
    return Finding(rule=rule, message=message, path=path, line=line, next=RULES[rule].next if level != "note" else "", level=level)


def _of_drift(drift: Drift) -> Finding:
    return _finding(drift.rule, drift.message, path=drift.path.encode("utf-8", "surrogateescape"), line=drift.line, level=drift.level)


def _verdict(leg: Literal["oracle-integrity", "src-score"], findings: Iterable[Finding], cause: Cause = "") -> Verdict:
    rows = sorted(dict.fromkeys(findings), key=lambda finding: ("error", "warning", "note").index(finding.level))
    status: Status = "FAIL" if any(finding.level == "error" for finding in rows) else "PASS"
    if len(rows) > MOST:
        rows = [*rows[:MOST], Finding(rule=rows[MOST].rule, message=f"and {len(rows) - MOST} more findings", level=rows[MOST].level)]
    return Verdict(leg=leg, status=status, findings=tuple(rows), cause=cause if status == "FAIL" else "")
