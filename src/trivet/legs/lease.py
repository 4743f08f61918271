"""The flake-lease leg: every skip and xfail of a sealed test needs a live lease from base's ledger.

The static half looks at what is written, the full half also at what ended skipped or xfailed, whoever caused it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from trivet.model import Calibrated, Drift, Finding, Lease, LeaseMatch, Ledger, Level, ScoreEvidence, SkipSite, Status, TestResult, Verdict
from trivet.rules import RULES
from trivet.signature import matches as failure_matches

DAY_S = 86_400.0
SOON_DAYS = 15
"""Leases that end on one of the next 14 days are announced, counted by days of the calendar (UTC)."""

MODULE: Final = "<module>"
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_NOT_RUN_OUTCOMES = frozenset({"skipped", "xfailed", "xpassed"})


def judge_static(ledger: Ledger, sites: Sequence[SkipSite], matches: Sequence[LeaseMatch], *, now: float | None = None) -> Verdict:
    """Judge what is written, without a run.

    Returns:
        FAIL where something is found. Otherwise NOT_RUN: without a run nobody knows what was skipped while it ran.
    """
    return _verdict((*_ledger_findings(ledger, matches, now), *_site_findings(sites, matches)), complete=False)


def judge(ledger: Ledger, sites: Sequence[SkipSite], matches: Sequence[LeaseMatch], evidence: ScoreEvidence | None, now: float) -> Verdict:
    """Judge what is written and what was seen while it ran.

    Args:
        ledger: base's ledger.
        sites: skips written in the sealed tree.
        matches: for each leased test whether its lease holds.
        evidence: what the scored run brought; None where it did not take place.
        now: seconds since the epoch, the one reading of the process.

    Returns:
        FAIL with findings, PASS when every run closed and nothing is found, NOT_RUN when a run is missing or broke off.
    """
    findings = [*_ledger_findings(ledger, matches, now), *_site_findings(sites, matches)]
    if evidence is None or not evidence.runs or evidence.calibration is None:
        return _verdict(findings, complete=False)
    findings += _run_findings(evidence, sites, matches)
    findings += _useless_leases(evidence, sites, matches)
    complete = not evidence.refused and all(run.end.how == "closed" for run in evidence.runs)
    return _verdict(findings, complete=complete)


def _verdict(findings: Iterable[Finding], *, complete: bool) -> Verdict:
    kept = tuple(dict.fromkeys(findings))
    if any(finding.level == "error" for finding in kept):
        status: Status = "FAIL"
    elif complete:
        status = "PASS"
    else:
        status = "NOT_RUN"
    return Verdict(leg="flake-lease", status=status, findings=kept, cause="infra" if status == "NOT_RUN" else "")


def _finding(rule: str, message: str, path: str, line: int | None = None, *, level: Level = "error") -> Finding:
    return Finding(rule=rule, message=message, path=path.encode("utf-8", "surrogateescape"), line=line, next=RULES[rule].next, level=level)


# --- the ledger -----------------------------------------------------------------------------------


def _ledger_findings(ledger: Ledger, matches: Sequence[LeaseMatch], now: float | None) -> Iterator[Finding]:
    for drift in ledger.drifts:
        yield _of_drift(drift)
    for match in matches:
        lease = match.lease
        if lease is None:
            continue
        if lease.weak and not match.problem:
            yield _finding("TRV307", f"{lease.qualname} is bound by the weak digest", ledger.path, lease.line, level="warning")
        if now is not None and not match.problem and lease.expires_at // DAY_S - now // DAY_S < SOON_DAYS:
            days = max(0, int(lease.expires_at // DAY_S) - int(now // DAY_S))  # of the calendar: one replay key, one text
            message = f"the lease of {lease.qualname} ends in {days} days (owner {lease.owner})"
            yield _finding("TRV308", message, ledger.path, lease.line, level="warning")
        if match.rule in ("TRV311", "TRV318"):
            yield _finding(match.rule, match.problem, ledger.path, lease.line)


def _of_drift(drift: Drift) -> Finding:
    return Finding(
        rule=drift.rule,
        message=drift.message,
        path=drift.path.encode("utf-8", "surrogateescape"),
        line=drift.line,
        next=RULES[drift.rule].next,
        level=drift.level,
    )


# --- what is written ------------------------------------------------------------------------------


def _site_findings(sites: Sequence[SkipSite], matches: Sequence[LeaseMatch]) -> Iterator[Finding]:
    book = _Book(matches)
    for site in sites:
        if site.conditional:
            continue
        match = book.of(site.file, site.function)
        name = f"{site.file}::{site.function or MODULE}"
        if match is None or match.lease is None:
            yield _finding("TRV301", f"{name} is skipped by {site.form}, and no lease covers it", site.file, site.line)
        elif match.problem:
            yield _finding(match.rule, f"{name}: {match.problem}", site.file, site.line)


class _Book:
    """Lease matches by file and function; a lease of a whole module or class covers what is in it."""

    def __init__(self, matches: Sequence[LeaseMatch]) -> None:
        self._by_name = {(match.file, match.function): match for match in matches}

    def of(self, file: str, function: str) -> LeaseMatch | None:
        parts = function.split(".") if function else []
        names = [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
        for name in (*names, MODULE, ""):
            match = self._by_name.get((file, name))
            if match is not None:
                return match
        return None


# --- what was seen --------------------------------------------------------------------------------


def function_of(test: str) -> tuple[str, str]:
    """File and function of a test id: ``a.py::T::test_f[x::y]`` → ``("a.py", "T.test_f")``; a bare file gives ``<module>``."""
    plain = test.split("[", 1)[0]
    file, *rest = plain.split("::")
    return file, ".".join(rest) or MODULE


def _run_findings(evidence: ScoreEvidence, sites: Sequence[SkipSite], matches: Sequence[LeaseMatch]) -> Iterator[Finding]:
    book = _Book(matches)
    base = {test.id: test for test in (evidence.calibration.tests if evidence.calibration else ())}
    lifted: dict[str, list[TestResult]] = {}
    for result in evidence.lifted:
        lifted.setdefault(result.id, []).append(result)
    written = {(site.file, site.function): site.line for site in sites}
    spoken = of_environment(sites)
    healthy: dict[LeaseMatch, bool] = {}
    for result in (result for run in evidence.runs for result in run.results):
        shown = base.get(result.id)
        if result.outcome not in _NOT_RUN_OUTCOMES or _free(result, shown, spoken):
            continue
        file, function = function_of(result.id)
        match = book.of(file, function)
        rule, problem = _unleased(result, shown, match)
        if not problem and match is not None and match.lease is not None:
            problem, passes = _failure_seen(match.lease, result, lifted.get(result.id, []))
            rule = "TRV305"
            healthy[match] = healthy.get(match, True) and passes
        if problem:
            yield _finding(rule, f"{result.id} {problem}", file, written.get((file, function)))
    for match, passes in healthy.items():
        if passes and match.lease is not None:
            yield _finding("TRV306", f"lease to delete: {match.lease.qualname} passes again", match.file, level="note")


def _unleased(result: TestResult, shown: Calibrated | None, match: LeaseMatch | None) -> tuple[str, str]:
    """Why no live lease covers a result: rule and message ("" = one does)."""
    if result.outcome == "skipped" and shown is not None and shown.outcome not in _NOT_RUN_OUTCOMES:
        return "TRV320", f"runs on base but is skipped here: {_reason(result)}"
    if match is None or match.lease is None:
        return "TRV302", f"ended {result.outcome} without a lease: {_reason(result)}"
    return match.rule, match.problem


def of_environment(sites: Iterable[SkipSite]) -> frozenset[tuple[str, str]]:
    """Files and functions all of whose written skips are conditions of the environment."""
    speaks: dict[tuple[str, str], bool] = {}
    for site in sites:
        place = (site.file, site.function or MODULE)
        speaks[place] = speaks.get(place, True) and site.conditional and site.environment
    return frozenset(place for place, all_do in speaks.items() if all_do)


def needs_lease(result: TestResult, shown: Calibrated | None, spoken: frozenset[tuple[str, str]]) -> bool:
    """Whether a result needs a lease: it ended skipped or xfailed, and no condition of the environment that base shows too excuses it."""
    return result.outcome in _NOT_RUN_OUTCOMES and not _free(result, shown, spoken)


def _free(result: TestResult, shown: Calibrated | None, spoken: frozenset[tuple[str, str]]) -> bool:
    """Whether a skip needs no lease: it speaks of the environment, and base skips the very same test for the same reason.

    A whole file that is left out because a package is missing is never free: a file that never runs proves nothing.
    """
    if result.outcome == "xpassed" or result.by_source:
        return False
    if "::" not in result.id and _missing_package(result.reason):
        return False
    written = function_of(result.id) in spoken
    if shown is None:
        return result.env_skip or written
    return shown.outcome == result.outcome and (shown.env_skip or written) and _plain(shown.reason) == _plain(result.reason)


def _missing_package(reason: str) -> bool:
    return "could not import" in reason


def _plain(reason: str) -> str:
    return _ADDRESS.sub("0x", reason).strip()


def _reason(result: TestResult) -> str:
    return result.reason.strip() or "no reason given"


def _failure_seen(lease: Lease, result: TestResult, lifted: Sequence[TestResult]) -> tuple[str, bool]:
    """What is wrong with the failure of a leased test ("" = nothing), and whether the test passes again."""
    if result.outcome == "xpassed" and not lifted:
        return "", True
    seen = list(lifted)
    if not seen and "::" not in result.id:
        seen = [result]  # a skip raised while the module is imported has no mark that could be lifted
    if not seen:
        return "the test was not seen with its mark lifted, so the lease's signature could not be checked", False
    failing = [one for one in seen if one.outcome not in ("passed", "xpassed")]
    for one in failing:
        type_, message, where = _failure(one)
        if not failure_matches(lease.signature, type_=type_, message=message, file=where):
            return f"it fails with `{type_}: {message[:160]}`, the lease names `{lease.signature}`", False
    return "", not failing


def _failure(result: TestResult) -> tuple[str, str, str]:
    if result.failure is not None:
        return result.failure.type, result.failure.message, result.failure.file
    if result.outcome == "skipped":
        return "Skipped", result.reason.removeprefix("Skipped: "), result.file
    return result.outcome, result.reason, result.file


def _useless_leases(evidence: ScoreEvidence, sites: Sequence[SkipSite], matches: Sequence[LeaseMatch]) -> Iterator[Finding]:
    needed = {(site.file, site.function) for site in sites}
    for run in evidence.runs:
        needed |= {function_of(result.id) for result in run.results if result.outcome in _NOT_RUN_OUTCOMES}
    for match in matches:
        if match.lease is None or match.rule in ("TRV311", "TRV318") or match.function in ("", MODULE):
            continue
        if not any(file == match.file and (name == match.function or name.startswith(match.function + ".")) for file, name in needed):
            yield _finding("TRV309", f"{match.lease.qualname} is neither skipped nor xfailed", match.file, level="warning")
