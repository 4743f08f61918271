"""The score leg compares what ran with what had to run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trivet.legs.score import judge, turned_green
from trivet.model import (
    Calibrated,
    Calibration,
    ControlResult,
    Exclude,
    Failure,
    RunEnd,
    RunRecord,
    ScoreEvidence,
    TamperSign,
    Verdict,
    WallFacts,
)
from trivet.model import TestResult as Result

FILE = "tests/sealed/test_a.py"
A, B = f"{FILE}::test_a", f"{FILE}::test_b"
CLOSED = RunEnd(how="closed")
BROKEN = Failure(type="AssertionError", message="assert 1 == 2", file=FILE, line=7)


def result(name: str = A, outcome: str = "passed", **fields: object) -> Result:
    failure = BROKEN if outcome in ("failed", "error") else None
    values = {"failure": failure, **fields}
    return Result(id=name, file=name.partition("::")[0], outcome=outcome, seconds=0.1, phases=(), **values)  # type: ignore[arg-type]


def known(name: str = A, outcome: str = "passed", **fields: object) -> Calibrated:
    return Calibrated(id=name, file=name.partition("::")[0], outcome=outcome, seconds=0.1, **fields)  # type: ignore[arg-type]


def run(*results: Result, **fields: object) -> RunRecord:
    ids = tuple(one.id for one in results if "::" in one.id)
    values: dict[str, object] = {
        "isolation": "shared",
        "collected": ids,
        "errors": (),
        "signs": (),
        "end": CLOSED,
        "seconds": 1.0,
        **fields,
    }
    return RunRecord(results=results, **values)  # type: ignore[arg-type]


def evidence(base: tuple[Calibrated, ...], *results: Result, **fields: object) -> ScoreEvidence:
    calibration = Calibration(tests=base, errors=(), end=CLOSED)
    return replace(ScoreEvidence(calibration=calibration, runs=(run(*results),), files=(FILE,)), **fields)


def rules(verdict: Verdict, level: str = "error") -> list[str]:
    return [finding.rule for finding in verdict.findings if finding.level == level]


GREEN = evidence((known(A), known(B, "failed")), result(A), result(B))


def test_all_that_base_collects_passed() -> None:
    """A run in which everything that base collects passed is a PASS without findings."""
    assert judge(GREEN) == Verdict(leg="src-score", status="PASS")


def test_what_the_patch_fixed_is_named() -> None:
    """Tests that are red on base, or that base could not collect, and are green now are named."""
    assert turned_green(GREEN) == (B,)
    assert turned_green(evidence((known(A),), result(A), result(B))) == (B,)


def test_a_failing_property_is_named_with_its_place() -> None:
    """A failing property fails, named with its file and line."""
    verdict = judge(evidence((known(A),), result(A, "failed")))
    (finding,) = verdict.findings
    assert (verdict.status, verdict.cause) == ("FAIL", "property")
    assert (finding.rule, finding.path, finding.line) == ("TRV201", FILE.encode(), 7)
    assert "green on base" in finding.message
    assert "assert 1 == 2" in finding.message


@pytest.mark.parametrize("base", ["passed", "failed", "error", "xpassed"])
@pytest.mark.parametrize("outcome", ["skipped", "xfailed"])
def test_a_test_that_base_runs_may_not_be_skipped(base: str, outcome: str) -> None:
    """A test that base runs, red or green, may not end skipped or as an expected failure."""
    if (base, outcome) == ("xpassed", "xfailed"):
        return
    verdict = judge(evidence((known(A, base),), result(A, outcome)))
    assert (verdict.status, verdict.cause, rules(verdict)) == ("FAIL", "missing", ["TRV202"])


@pytest.mark.parametrize("outcome", ["skipped", "xfailed"])
def test_what_base_skips_too_is_left_to_the_lease_leg(outcome: str) -> None:
    """What base skips too is left to flake-lease."""
    assert judge(evidence((known(A, outcome), known(B)), result(A, outcome), result(B))).status == "PASS"


def test_a_skip_by_production_code_never_counts() -> None:
    """A skip raised by production code fails, also for a test that base skips itself."""
    verdict = judge(evidence((known(A, "skipped"),), result(A, "skipped", by_source=True, reason="not today")))
    assert rules(verdict) == ["TRV202"]
    assert "production code" in verdict.findings[0].message


def test_thrown_away_inputs_are_no_pass() -> None:
    """A pass for which production code threw generated inputs away is no pass, unless base does so too."""
    thrown = result(A, by_source=True, reason="production code threw away 3 generated inputs")
    assert rules(judge(evidence((known(A),), thrown))) == ["TRV202"]
    assert judge(evidence((known(A, by_source=True),), thrown)).status == "PASS"


def test_a_missing_test_is_missed() -> None:
    """A test that base collects and head does not is missed; a test that was collected and never ran as well."""
    assert rules(judge(evidence((known(A), known(B)), result(A)))) == ["TRV202"]
    verdict = judge(replace(GREEN, runs=(run(result(A), collected=(A, B)),)))
    assert "never ran" in verdict.findings[0].message


def test_more_tests_than_base_must_pass() -> None:
    """Ids that base does not have must pass."""
    assert judge(evidence((known(A),), result(A), result(B))).status == "PASS"
    assert rules(judge(evidence((known(A),), result(A), result(B, "failed")))) == ["TRV201"]


def test_a_file_that_cannot_be_collected_fails() -> None:
    """A file that cannot be collected fails once, not once for each of its tests."""
    broken = run(errors=((FILE, "ImportError: no"),))
    assert rules(judge(replace(GREEN, runs=(broken,)))) == ["TRV202"]


def test_a_file_that_base_cannot_collect_must_bring_tests() -> None:
    """A file that base cannot collect must bring tests on head."""
    calibration = Calibration(tests=(), errors=((FILE, "ImportError: no"),), end=CLOSED)
    found = ScoreEvidence(calibration=calibration, runs=(run(result(A)),), files=(FILE,))
    assert judge(found).status == "PASS"
    assert "TRV202" in rules(judge(replace(found, runs=(run(),))))
    still = judge(replace(found, runs=(run(errors=((FILE, "ImportError: no"),)),)))
    assert (still.cause, rules(still)) == ("property", ["TRV202"])


@pytest.mark.parametrize(
    ("end", "rule", "cause"),
    [
        (RunEnd(how="exit", detail="exit status 0", test=A), "TRV208", "missing"),
        (RunEnd(how="signal", detail="SIGSEGV"), "TRV208", "missing"),
        (RunEnd(how="signal", detail="SIGXCPU"), "TRV205", "limit"),
        (RunEnd(how="timeout", detail="a test ran longer than 60 s", limit="test_timeout_s", test=A), "TRV205", "limit"),
        (RunEnd(how="limit", detail="memory", limit="memory"), "TRV205", "limit"),
        (RunEnd(how="protocol", detail="a record after the closing message"), "TRV204", "tamper"),
        (RunEnd(how="refused", detail="ImportError: pluggy"), "TRV208", "property"),
        (RunEnd(how="closed", detail="SystemExit: 0"), "TRV208", "missing"),
    ],
)
def test_a_run_that_does_not_close_fails(end: RunEnd, rule: str, cause: str) -> None:
    """A run that does not close properly fails although all its tests passed."""
    verdict = judge(replace(GREEN, runs=(run(result(A), result(B), end=end),)))
    assert (verdict.status, verdict.cause, rules(verdict)) == ("FAIL", cause, [rule])


def test_nothing_collected_is_no_pass() -> None:
    """A run that collected nothing is no pass, whatever base says."""
    empty = ScoreEvidence(calibration=Calibration(tests=(), errors=(), end=CLOSED), runs=(run(),))
    assert judge(empty).status == "FAIL"


def test_a_test_that_is_reported_twice_is_a_sign() -> None:
    """A test that two runs report is a sign of tampering."""
    verdict = judge(replace(GREEN, runs=(run(result(A), result(B)), run(result(A)))))
    assert (verdict.cause, rules(verdict)) == ("tamper", ["TRV204"])


def test_only_blocking_signs_that_base_lacks_block() -> None:
    """A sign blocks only if no honest reading exists and base does not show it as well."""
    sign = TamperSign(kind="report", detail="forged", blocking=True)
    signed = replace(GREEN, runs=(run(result(A), result(B), signs=(sign,)),))
    assert (judge(signed).status, judge(signed).cause) == ("FAIL", "tamper")
    assert GREEN.calibration is not None
    assert judge(replace(signed, calibration=replace(GREEN.calibration, signs=(sign,)))).status == "PASS"
    weak = replace(sign, blocking=False)
    assert judge(replace(GREEN, runs=(run(result(A), result(B), signs=(weak,)),))).status == "PASS"


def test_code_from_elsewhere_is_no_pass() -> None:
    """Tests that import an installed copy say nothing about the patch."""
    moved = run(result(A), result(B), environment=(("origin:shop", "/v/site-packages/shop/__init__.py"),))
    assert rules(judge(replace(GREEN, runs=(moved,)))) == ["TRV202"]


@pytest.mark.parametrize("outcome", ["passed", "elsewhere", "skipped", "missing", "timeout"])
def test_a_control_that_is_not_red_is_tampering(outcome: str) -> None:
    """A control that was not seen red is tampering."""
    control = ControlResult(id=A, kind="negate", line=3, altered="x == 1", outcome=outcome)  # type: ignore[arg-type]
    verdict = judge(replace(GREEN, controls=(control,)))
    assert (verdict.status, verdict.cause, rules(verdict)) == ("FAIL", "tamper", ["TRV203"])
    assert judge(replace(GREEN, controls=(replace(control, outcome="red"),))).status == "PASS"


def test_a_red_run_that_changes_is_an_environment_leak_and_stays_red() -> None:
    """A red run that is green when it is run again stays red, as an environment leak."""
    red = evidence((known(A),), result(A, "failed"))
    verdict = judge(replace(red, reruns=((run(result(A)),), (run(result(A, "failed")),))))
    assert (verdict.status, verdict.cause) == ("FAIL", "environment")
    assert judge(replace(red, reruns=((run(result(A, "failed")),),))).cause == "property"


def test_right_only_in_the_pinned_run_is_tampering() -> None:
    """A test that passes only in the pinned run fails, unless it is the same on base."""
    varied = replace(GREEN, varied=(run(result(A, "failed"), result(B)),))
    verdict = judge(varied)
    assert (verdict.cause, rules(verdict)) == ("tamper", ["TRV211"])
    assert judge(replace(varied, varied_base=(run(result(A, "failed"), result(B, "failed")),))).status == "PASS"
    assert rules(judge(replace(GREEN, varied=(run(result(A)),)))) == ["TRV211"]


def test_a_failure_on_fresh_inputs_fails() -> None:
    """A failure on inputs that the patch could not know fails; where base fails alike it is a warning."""
    fresh = replace(GREEN, fresh=(run(result(A, "failed")),), fresh_seed=5)
    assert rules(judge(fresh)) == ["TRV212"]
    warned = judge(replace(fresh, fresh_base=(run(result(A, "failed")),)))
    assert (warned.status, rules(warned, "warning")) == ("PASS", ["TRV212"])


def test_conflicts_say_rebase() -> None:
    """A conflict in source fails with the advice to rebase."""
    verdict = judge(ScoreEvidence(conflicts=("src/a.py",)))
    assert (verdict.status, verdict.cause, rules(verdict)) == ("FAIL", "conflict", ["TRV207"])
    assert "ebase" in verdict.findings[0].next


@pytest.mark.parametrize(
    "found", [ScoreEvidence(), ScoreEvidence(refused="no interpreter"), replace(GREEN, calibration=None), replace(GREEN, runs=())]
)
def test_without_evidence_nothing_is_judged(found: ScoreEvidence) -> None:
    """Without calibration or run nothing is judged."""
    verdict = judge(found)
    assert (verdict.status, verdict.cause) == ("NOT_RUN", "infra")


def test_what_is_switched_off_is_printed() -> None:
    """Exclusions, controls that are off and a missing wall are printed on a PASS."""
    found = replace(GREEN, wall=WallFacts(name="none", guarantees=()))
    verdict = judge(found, excluded=(Exclude(id=B, reason="no display"),), controls="off")
    assert verdict.status == "PASS"
    assert {finding.rule for finding in verdict.findings} == {"TRV210", "TRV213", "TRV214"}


def test_a_very_long_list_is_cut() -> None:
    """A very long list of findings is cut, and says so."""
    names = [f"{FILE}::test_{number}" for number in range(500)]
    found = evidence(tuple(known(name) for name in names), *(result(name, "failed") for name in names))
    assert "more findings" in judge(found).findings[-1].message
    assert len(judge(found).findings) < 300


def test_a_file_whose_tests_are_all_excluded_has_none_to_bring() -> None:
    """Only base's policy excludes; a file that base cannot collect must still bring what is left of it."""
    other = "tests/sealed/test_net.py"
    found = evidence((known(A),), result(A), files=(FILE, other))
    out = (Exclude(id=f"{other}::test_get", reason="no network"),)
    assert rules(judge(found)) == ["TRV202"]
    assert rules(judge(found, excluded=out)) == []
    broken = replace(found, calibration=Calibration(tests=(known(A),), errors=((other, "ImportError"),), end=CLOSED))
    assert rules(judge(broken, excluded=out)) == ["TRV202"]
