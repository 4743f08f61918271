"""Admission judged from evidence alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from trivet.legs.admission import AdmissionEvidence, Candidate, Traced, Trials, Varied, certificates, judge_integrity, judge_score
from trivet.legs.authority import Standing
from trivet.model import Calibrated, Calibration, Drift, Failure, Finding, Outcome, RunEnd

FILE = "tests/sealed/test_a.py"
OWNED = Standing(findings=(), by="author rosa")
CLOSED = RunEnd(how="closed")


def seen(name: str, outcome: Outcome = "passed", controls: tuple[tuple[str, int], ...] = ()) -> Calibrated:
    """One test id as a run saw it."""
    failure = Failure(type="AssertionError", message="assert 1 == 2") if outcome == "failed" else None
    return Calibrated(id=f"{FILE}::{name}", file=FILE, outcome=outcome, seconds=0.0, controls=controls, failure=failure)


def ran(*tests: Calibrated, errors: tuple[tuple[str, str], ...] = (), end: RunEnd = CLOSED) -> Calibration:
    """A calibration of these tests."""
    return Calibration(tests=tests, errors=errors, end=end)


def candidate(name: str, state: Literal["new", "changed", "same"] = "same", **more: object) -> Candidate:
    """One written test."""
    return replace(Candidate(file=FILE, function=name, line=3, state=state), **more)  # type: ignore[arg-type]


def evidence(base: Calibration, head: Calibration, *candidates: Candidate, **more: object) -> AdmissionEvidence:
    """Evidence of an owned change whose runs took place."""
    alterable = frozenset(test.id for test in head.tests)
    trials = Trials(base=base, head=head, controlled=True, alterable=alterable)
    return replace(AdmissionEvidence(standing=OWNED, candidates=candidates, trials=trials), **more)  # type: ignore[arg-type]


def errors(verdict_findings: tuple[Finding, ...]) -> list[str]:
    """The rules that block."""
    return [finding.rule for finding in verdict_findings if finding.level == "error"]


GREEN = evidence(
    ran(seen("test_a")),
    ran(seen("test_a"), seen("test_b", controls=(("slight", 4),))),
    candidate("test_a"),
    candidate("test_b", "new"),
)


def test_a_new_property_that_can_refuse_is_admitted() -> None:
    """All in order, and a certificate says how many altered copies failed."""
    assert (judge_integrity(GREEN).status, judge_score(GREEN).status) == ("PASS", "PASS")
    assert [(row.property, row.outcome, row.controls) for row in certificates(GREEN)] == [(f"{FILE}::test_b", "green", 1)]


def test_a_green_property_without_a_working_control_is_refused() -> None:
    """No altered copy fails, so it decides nothing."""
    head = ran(seen("test_a"), seen("test_b"))
    assert errors(judge_integrity(replace(GREEN, trials=replace(GREEN.trials, head=head))).findings) == ["TRV120"]
    canary = ran(seen("test_a"), seen("test_b", controls=(("canary", 3), ("canary@tests/sealed/h.py", 1))))
    assert errors(judge_integrity(replace(GREEN, trials=replace(GREEN.trials, head=canary))).findings) == ["TRV120"]
    rigid = judge_integrity(replace(GREEN, trials=replace(GREEN.trials, head=head, alterable=frozenset())))
    assert (rigid.status, [finding.level for finding in rigid.findings]) == ("PASS", ["warning"])
    untried = replace(GREEN, trials=replace(GREEN.trials, head=head, controlled=False))
    assert errors(judge_integrity(untried).findings) == []


def watched(*traces: Traced, **more: object) -> AdmissionEvidence:
    """The green change, with what was seen of its new property; ``more`` goes to the trials or to the candidate."""
    reads = bool(more.pop("reads", False))
    return replace(
        GREEN, trials=replace(GREEN.trials, traced=traces, **more), candidates=(candidate("test_a"), candidate("test_b", "new", reads=reads))  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("trace", "more", "level"),
    [
        ({}, {}, "error"),
        ({"count": 2}, {}, None),
        ({"unseen": True}, {}, None),
        ({"outcome": "failed"}, {}, None),
        ({}, {"opaque": True}, None),
        ({}, {"reads": True}, "note"),
        ({}, {"idle_on_base": frozenset({f"{FILE}::test_b"})}, "warning"),
    ],
)
def test_a_green_property_during_which_no_production_code_runs_is_refused(trace: dict[str, object], more: dict[str, object], level: str | None) -> None:
    """Unless it reads a value, started a process, was so before, or the code is compiled."""
    found = judge_integrity(watched(Traced(id=f"{FILE}::test_b", **{"outcome": "passed", **trace}), **more))  # type: ignore[arg-type]
    assert [(finding.rule, finding.level) for finding in found.findings] == ([("TRV122", level)] if level else [])


def test_a_property_that_asks_network_or_time_itself_is_refused() -> None:
    """A socket that a green test opens and does not use says nothing."""
    for trace in ({"network": ("connects to 'h'",)}, {"times": ("time.time",)}):
        found = watched(Traced(id=f"{FILE}::test_b", outcome="passed", count=1, **trace))  # type: ignore[arg-type]
        assert errors(judge_integrity(found).findings) == ["TRV124"]
        assert certificates(found)[0].faults == ("TRV124",)
    opened = {"network": ("opens a socket of the network",), "count": 1}
    assert errors(judge_integrity(watched(Traced(id=f"{FILE}::test_b", outcome="passed", **opened))).findings) == []  # type: ignore[arg-type]
    assert errors(judge_integrity(watched(Traced(id=f"{FILE}::test_b", outcome="failed", **opened))).findings) == ["TRV124"]  # type: ignore[arg-type]


def test_a_certificate_says_what_is_known() -> None:
    """Controls of those tried, production functions, and where the outcome stayed."""
    name = f"{FILE}::test_b"
    found = watched(
        Traced(id=name, outcome="passed", count=3),
        tried=((name, 2),),
        varied=(Varied(what="one", outcomes=((name, "passed"),)), Varied(what="two", outcomes=((name, "failed"),))),
    )
    (row,) = certificates(found)
    assert (row.controls, row.tried, row.executes, row.steady, row.faults) == (1, 2, 3, ("one",), ("TRV123",))


def test_a_new_property_that_is_red_on_base_is_a_specification() -> None:
    """It is admitted, and told."""
    head = ran(seen("test_a"), seen("test_b", "failed"))
    spec = replace(GREEN, trials=replace(GREEN.trials, head=head))
    score = judge_score(spec)
    assert (judge_integrity(spec).status, score.status, score.findings[0].level) == ("PASS", "PASS", "note")
    assert "specification" in score.findings[0].message
    assert certificates(spec)[0].outcome == "specification"


def test_an_unchanged_property_that_turns_red_is_refused() -> None:
    """Head's oracle broke it."""
    broken = evidence(ran(seen("test_a")), ran(seen("test_a", "failed")), candidate("test_a"))
    assert errors(judge_score(broken).findings) == ["TRV201"]


def test_new_fixture_bytes_make_an_unchanged_property_a_specification() -> None:
    """The text is the same, and what it says is not."""
    moved = evidence(ran(seen("test_a")), ran(seen("test_a", "failed")), candidate("test_a"), fixtures_moved=True)
    assert judge_score(moved).status == "PASS"


def test_what_was_red_on_base_stays_somebody_elses_work() -> None:
    """A red test of base does not block an oracle change."""
    old = evidence(ran(seen("test_a", "failed")), ran(seen("test_a", "failed")), candidate("test_a"))
    assert judge_score(old).status == "PASS"


def test_a_written_test_that_does_not_run_is_refused() -> None:
    """Deselected, ignored or shadowed: it is still written, and gone."""
    gone = evidence(ran(seen("test_a")), ran(), candidate("test_a"))
    assert errors(judge_score(gone).findings) == ["TRV202"]


def test_a_removed_test_is_told_and_not_refused() -> None:
    """Removing is an owner's word."""
    removed = replace(GREEN, removed=(f"{FILE}::test_old",))
    assert [finding.level for finding in judge_integrity(removed).findings] == ["note"]


def test_parameters_of_a_test_may_change_freely() -> None:
    """One id of the function is enough."""
    head = ran(seen("test_a[new]"))
    assert judge_score(evidence(ran(seen("test_a[old]"), seen("test_a[older]")), head, candidate("test_a"))).status == "PASS"


@pytest.mark.parametrize(
    ("state", "text", "status"),
    [
        ("new", "ImportError: cannot import name 'later'", "PASS"),
        ("new", "SyntaxError: invalid syntax", "FAIL"),
        ("same", "ImportError: cannot import name 'later'", "FAIL"),
    ],
)
def test_a_file_that_cannot_be_collected(state: Literal["new", "same"], text: str, status: str) -> None:
    """What production code still lacks is a specification; anything else is a broken oracle."""
    broken = evidence(ran(), ran(errors=((FILE, text),)), candidate("test_a", state))
    assert judge_score(broken).status == status


@pytest.mark.parametrize(("how", "rule"), [("timeout", "TRV205"), ("limit", "TRV205"), ("exit", "TRV208"), ("signal", "TRV208")])
def test_a_run_that_does_not_close_is_refused(how: Literal["timeout", "limit", "exit", "signal"], rule: str) -> None:
    """Half a run is no run."""
    assert rule in errors(judge_score(evidence(ran(), ran(seen("test_a"), end=RunEnd(how=how)), candidate("test_a"))).findings)


def test_an_outcome_that_changes_with_the_environment_is_refused() -> None:
    """Only new and changed properties are asked."""
    varied = (Varied(what="another clock", outcomes=((f"{FILE}::test_b", "failed"), (f"{FILE}::test_a", "failed"))),)
    changing = replace(GREEN, trials=replace(GREEN.trials, varied=varied))
    assert [(f.rule, "test_b" in f.message) for f in judge_integrity(changing).findings if f.level == "error"] == [("TRV123", True)]


def test_faults_count_for_new_properties_and_warn_where_base_had_them() -> None:
    """Nobody is asked to mend what was there."""
    fault = Drift(rule="TRV121", message="holds anyway", path=FILE, line=3)
    rows = (
        candidate("a", "new", faults=(fault,)),
        candidate("b", "changed", faults=(fault,), known=frozenset({"TRV121"})),
        candidate("c", faults=(fault,)),
    )
    findings = judge_integrity(AdmissionEvidence(standing=OWNED, candidates=rows)).findings
    assert [finding.level for finding in findings] == ["error", "warning"]


def test_a_ledger_moves_only_while_base_is_green() -> None:
    """A lease may not be moved by the change that needs it."""
    red = ran(seen("test_a", "failed"))
    moved = evidence(red, red, candidate("test_a"), ledger_moved=True)
    assert (errors(judge_integrity(moved).findings), errors(judge_score(moved).findings)) == (["TRV125"], ["TRV201"])
    green = evidence(ran(seen("test_a")), ran(seen("test_a")), candidate("test_a"), ledger_moved=True)
    assert (judge_integrity(green).status, judge_score(green).status) == ("PASS", "PASS")


def test_nothing_ran_is_not_a_pass() -> None:
    """Silence is not consent."""
    verdict = judge_score(AdmissionEvidence(standing=OWNED, trials=Trials(refused="no wall")))
    assert (verdict.status, verdict.cause, verdict.findings[0].message) == ("NOT_RUN", "infra", "no wall")


def test_a_conflict_asks_for_a_rebase() -> None:
    """It is told before anything runs."""
    verdict = judge_score(AdmissionEvidence(standing=OWNED, conflicts=("trivet.toml",)))
    assert (verdict.status, verdict.cause, errors(verdict.findings)) == ("FAIL", "conflict", ["TRV207"])


@pytest.mark.parametrize(
    "more",
    [
        {"standing": Standing(findings=(Finding(rule="TRV103", message="x"),), by="")},
        {"findings": (Finding(rule="TRV110", message="x"),)},
        {"owners": (Drift(rule="TRV117", message="x", path="CODEOWNERS"),)},
        {"unowned": (b"tests/sealed/x",)},
        {"unreadable": (Drift(rule="TRV127", message="x", path="trivet.toml"),)},
        {"twins": (Drift(rule="TRV118", message="x", path=FILE),)},
    ],
)
def test_each_kind_of_objection_blocks(more: dict[str, object]) -> None:
    """Authority, manifests, owners, policy, doubles."""
    assert judge_integrity(replace(GREEN, **more)).status == "FAIL"  # type: ignore[arg-type]
