"""The flake-lease leg: every row of its decision table, from values alone."""

import pytest

from trivet.legs.lease import function_of, judge, judge_static
from trivet.model import (
    Calibrated,
    Calibration,
    Drift,
    Failure,
    Lease,
    LeaseMatch,
    Ledger,
    RunEnd,
    RunRecord,
    ScoreEvidence,
    SkipSite,
)
from trivet.model import TestResult as Result

NOW = 1_800_000_000.0
FILE = "tests/sealed/test_a.py"
ID = f"{FILE}::test_b"
LEDGER = Ledger(path="ci/l.json", leases=(), drifts=())
CLOSED = RunEnd(how="closed")


def lease(**changes):
    given = {
        "qualname": "test_a.test_b",
        "digest": "v1:" + "0" * 64,
        "signature": "AssertionError: one cent off",
        "expires_at": NOW + 30 * 86_400,
    }
    return Lease(**{**given, "owner": "o", "reason": "r", "path": FILE, "line": 3, **changes})


def match(function="test_b", *, problem="", rule="", **changes):
    return LeaseMatch(file=FILE, function=function, lease=lease(**changes), problem=problem, rule=rule)


def site(function="test_b", *, conditional=False, environment=False, form="pytest.mark.skip"):
    return SkipSite(file=FILE, function=function, line=7, form=form, conditional=conditional, environment=environment)


def result(outcome="skipped", *, id_=ID, reason="x", lifted=False, failure=None, **flags):
    return Result(id=id_, file=FILE, outcome=outcome, seconds=0.0, phases=(), reason=reason, lifted=lifted, failure=failure, **flags)


def failed(message="one cent off", type_="AssertionError", id_=ID):
    return result("failed", id_=id_, reason="", lifted=True, failure=Failure(type=type_, message=message, file=FILE, line=9))


def evidence(*results, base=None, lifted=(), end=CLOSED):
    shown = (
        base
        if base is not None
        else tuple(Calibrated(id=r.id, file=r.file, outcome=r.outcome, seconds=0.0, reason=r.reason, env_skip=r.env_skip) for r in results)
    )
    run = RunRecord(isolation="shared", collected=(), results=results, errors=(), signs=(), end=end, seconds=0.0)
    return ScoreEvidence(calibration=Calibration(tests=tuple(shown), errors=(), end=CLOSED), runs=(run,), lifted=tuple(lifted))


def on_base(outcome, *, reason="x", env_skip=False):
    return (Calibrated(id=ID, file=FILE, outcome=outcome, seconds=0.0, reason=reason, env_skip=env_skip),)


def rules(verdict, level="error"):
    return [finding.rule for finding in verdict.findings if finding.level == level]


def test_without_skips_a_closed_run_passes():
    verdict = judge(LEDGER, (), (), evidence(result("passed")), NOW)
    assert (verdict.status, verdict.findings) == ("PASS", ())


def test_a_red_property_is_no_concern_of_this_leg():
    assert judge(LEDGER, (), (), evidence(result("failed")), NOW).status == "PASS"


def test_a_written_skip_without_a_lease_fails_statically():
    verdict = judge_static(LEDGER, (site(),), ())
    assert (verdict.status, rules(verdict)) == ("FAIL", ["TRV301"])
    assert verdict.findings[0].line == 7


def test_a_conditional_site_is_left_to_the_run():
    assert judge_static(LEDGER, (site(conditional=True),), ()).status == "NOT_RUN"


@pytest.mark.parametrize("rule", ["TRV303", "TRV304"])
def test_a_lease_that_does_not_hold_fails_statically_under_its_rule(rule):
    verdict = judge_static(LEDGER, (site(),), (match(problem="gone", rule=rule),))
    assert (verdict.status, rules(verdict)) == ("FAIL", [rule])


def test_a_live_lease_covers_a_skip_that_fails_as_named():
    verdict = judge(LEDGER, (site(),), (match(),), evidence(result(), lifted=[failed()]), NOW)
    assert (verdict.status, verdict.findings) == ("PASS", ())


def test_a_live_lease_covers_an_xfail_as_well():
    assert judge(LEDGER, (site(),), (match(),), evidence(result("xfailed"), lifted=[failed()]), NOW).status == "PASS"


@pytest.mark.parametrize(
    "seen", [failed("two cents off"), failed(type_="ValueError"), result("error", lifted=True, failure=Failure(type="E", message="m"))]
)
def test_a_leased_test_that_fails_otherwise_fails_the_leg(seen):
    verdict = judge(LEDGER, (site(),), (match(),), evidence(result(), lifted=[seen]), NOW)
    assert (verdict.status, rules(verdict)) == ("FAIL", ["TRV305"])


def test_a_leased_test_that_was_not_seen_failing_is_not_covered():
    assert rules(judge(LEDGER, (site(),), (match(),), evidence(result()), NOW)) == ["TRV305"]


def test_a_leased_test_that_passes_again_is_a_lease_to_delete():
    verdict = judge(LEDGER, (site(),), (match(),), evidence(result(), lifted=[result("passed", lifted=True)]), NOW)
    assert (verdict.status, rules(verdict, "note")) == ("PASS", ["TRV306"])


def test_an_xfail_that_passes_needs_a_lease():
    assert rules(judge(LEDGER, (), (), evidence(result("xpassed")), NOW)) == ["TRV302"]
    assert judge(LEDGER, (), (match(),), evidence(result("xpassed")), NOW).status == "PASS"


def test_a_skip_at_run_time_without_a_lease_fails_whoever_raised_it():
    assert rules(judge(LEDGER, (), (), evidence(result()), NOW)) == ["TRV302"]
    assert rules(judge(LEDGER, (), (), evidence(result(by_source=True, env_skip=True)), NOW)) == ["TRV302"]


def test_a_test_that_runs_on_base_may_not_be_skipped_here_even_with_a_lease():
    verdict = judge(LEDGER, (), (match(),), evidence(result(), base=on_base("passed"), lifted=[failed()]), NOW)
    assert rules(verdict) == ["TRV320"]


def test_an_environment_skip_that_base_shows_needs_no_lease():
    assert judge(LEDGER, (), (), evidence(result(env_skip=True)), NOW).status == "PASS"
    assert judge(LEDGER, (site(conditional=True, environment=True),), (), evidence(result()), NOW).status == "PASS"


def test_an_environment_skip_for_another_reason_than_on_base_needs_a_lease():
    assert rules(judge(LEDGER, (), (), evidence(result(env_skip=True), base=on_base("skipped", reason="other", env_skip=True)), NOW)) == [
        "TRV302"
    ]


def test_only_bases_word_makes_a_skip_one_of_the_environment():
    assert rules(judge(LEDGER, (), (), evidence(result(env_skip=True), base=on_base("skipped")), NOW)) == ["TRV302"]


def test_a_whole_file_left_out_for_a_missing_package_is_never_free():
    gone = result(id_=FILE, reason="could not import 'z': No module named 'z'", env_skip=True)
    assert rules(judge(LEDGER, (), (), evidence(gone), NOW)) == ["TRV302"]
    held = match("<module>", signature="Skipped: could not import 'z'*")
    assert judge(LEDGER, (), (held,), evidence(gone), NOW).status == "PASS"


def test_a_lease_of_a_class_covers_its_tests_and_of_another_test_does_not():
    inner = result(id_=f"{FILE}::TestC::test_x[1]")
    assert judge(LEDGER, (), (match("TestC"),), evidence(inner, lifted=[failed(id_=inner.id)]), NOW).status == "PASS"
    assert rules(judge(LEDGER, (), (match("TestD"),), evidence(inner), NOW)) == ["TRV302"]


def test_drifts_of_the_ledger_fail_the_leg():
    ledger = Ledger(path="ci/l.json", leases=(), drifts=(Drift(rule="TRV310", message="m", path="ci/l.json", line=4),))
    verdict = judge(ledger, (), (), evidence(result("passed")), NOW)
    assert (verdict.status, rules(verdict)) == ("FAIL", ["TRV310"])


@pytest.mark.parametrize("rule", ["TRV311", "TRV318"])
def test_a_row_that_means_no_or_several_tests_fails_the_leg(rule):
    assert rules(judge(LEDGER, (), (match(problem="p", rule=rule),), evidence(result("passed")), NOW)) == [rule]


def test_weak_near_and_useless_leases_are_warned_of():
    verdict = judge(LEDGER, (), (match(weak=True, expires_at=NOW + 86_400),), evidence(result("passed")), NOW)
    assert verdict.status == "PASS"
    assert rules(verdict, "warning") == ["TRV307", "TRV308", "TRV309"]


@pytest.mark.parametrize("end", [RunEnd(how="exit"), RunEnd(how="timeout"), RunEnd(how="limit"), RunEnd(how="protocol")])
def test_a_run_that_broke_off_is_not_run_unless_something_is_found(end):
    assert judge(LEDGER, (), (), evidence(result("passed"), end=end), NOW).status == "NOT_RUN"
    assert judge(LEDGER, (), (), evidence(result(), end=end), NOW).status == "FAIL"


def test_without_evidence_only_the_static_half_speaks():
    assert judge(LEDGER, (), (), None, NOW).status == "NOT_RUN"
    assert judge(LEDGER, (site(),), (), None, NOW).status == "FAIL"
    assert judge(LEDGER, (), (), ScoreEvidence(refused="no wall"), NOW).status == "NOT_RUN"


@pytest.mark.parametrize(
    ("test", "function"),
    [(ID, "test_b"), (f"{FILE}::T::U::test_c[a::b[1]]", "T.U.test_c"), (FILE, "<module>")],
)
def test_an_id_names_its_function(test, function):
    assert function_of(test) == (FILE, function)
