"""The gate itself sabotaged: a leg that always passes, a rule that is switched off. Each time a case must turn red.

If one of these tests fails, the case beside it proves nothing: it would be right with a gate that does not look.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus.cases import Case, judge, load

CASES = {case.id: case for case in load()}
PASSES = """
import trivet.legs.{module} as leg
from trivet.model import Verdict
leg.{function} = lambda *args, **kwargs: Verdict(leg={name!r}, status="PASS")
"""
SILENT = """
import trivet.model
real = trivet.model.Verdict.__init__
def silent(self, *, leg, status, findings=(), cause=""):
    kept = tuple(finding for finding in findings if finding.rule != {rule!r})
    dropped = len(kept) != len(tuple(findings)) and not any(finding.level == "error" for finding in kept)
    real(self, leg=leg, status="PASS" if dropped else status, findings=kept, cause="" if dropped else cause)
trivet.model.Verdict.__init__ = silent
"""
JOINED = """
import trivet.model
trivet.model.Decision.merge = property(lambda self: True)
"""


def sabotaged(case: Case, work: Path, cache: Path, sabotage: str) -> list[str]:
    return judge(case, work, cache=cache, sabotage=sabotage)


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("case", "module", "functions", "name"),
    [
        ("TRV101-weakened-assertion", "oracle", ("judge",), "oracle-integrity"),
        ("TRV201-wrong", "score", ("judge",), "src-score"),
        ("TRV208-exit-at-import", "score", ("judge",), "src-score"),
        ("TRV301-skip-on-base", "lease", ("judge", "judge_static"), "flake-lease"),
    ],
)
def test_a_leg_that_always_passes_is_noticed(case: str, module: str, functions: tuple[str, ...], name: str, tmp_path: Path, case_cache: Path) -> None:
    sabotage = "".join(PASSES.format(module=module, function=function, name=name) for function in functions)
    assert sabotaged(CASES[case], tmp_path, case_cache, sabotage)


@pytest.mark.corpus
@pytest.mark.parametrize(
    "case", ["TRV101-edited-fixture", "TRV104-root-conftest", "TRV107-shadows-runner", "TRV112-fixture-drift", "TRV203-equal-to-everything", "TRV317-unknown-key"]
)
def test_a_rule_that_is_switched_off_is_noticed(case: str, tmp_path: Path, case_cache: Path) -> None:
    assert sabotaged(CASES[case], tmp_path, case_cache, SILENT.format(rule=case.split("-", maxsplit=1)[0]))


@pytest.mark.corpus
def test_a_join_that_does_not_and_is_noticed(tmp_path: Path, case_cache: Path) -> None:
    assert sabotaged(CASES["TRV101-weakened-assertion"], tmp_path, case_cache, JOINED)


@pytest.mark.corpus
def test_without_sabotage_the_same_case_is_right(tmp_path: Path, case_cache: Path) -> None:
    assert not judge(CASES["TRV101-weakened-assertion"], tmp_path, cache=case_cache)
