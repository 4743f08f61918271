"""Our own cases are judged alike without a cache, with an empty one, and with one that knows them (all of them with TRIVET_LONG=1)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from corpus.cases import SRC, Case, build, git, load

FEW = ("good-refactoring", "TRV101-weakened-assertion")
CASES = [case for case in load() if os.environ.get("TRIVET_LONG") or case.id in FEW]


def judged(case: Case, work: Path, *more: str) -> tuple[object, ...]:
    """Exit status, and of each leg its status, cause and rules."""
    out = work / "out"
    call = ["gate", "--repo", str(work / "repo"), "--base", "base", "--head", "head", "--out", str(out), "--python", sys.executable]
    call += [*case.options, *more]
    if case.review:
        (work / "review.json").write_text(json.dumps(case.review).replace("HEAD", git(work / "repo", "rev-parse", "head^{commit}")))
        call += ["--review", str(work / "review.json")]
    env = {"PATH": os.environ["PATH"], "HOME": str(work), "PYTHONPATH": str(SRC), "LANG": "C.UTF-8"}
    done = subprocess.run([sys.executable, "-m", "trivet", *call], env=env, capture_output=True, text=True, check=False, timeout=300)
    decision = json.loads((out / "decision.json").read_text("ascii"))
    legs = {leg: (row["status"], row["cause"], sorted({f["rule"] for f in row["findings"]})) for leg, row in decision["verdicts"].items()}
    return done.returncode, decision["merge"], legs


@pytest.mark.corpus
@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_case_is_judged_alike_with_and_without_cache(case: Case, tmp_path: Path) -> None:
    build(case, tmp_path / "repo")
    without = judged(case, tmp_path, "--no-cache")
    assert judged(case, tmp_path) == without, "a cache that knows nothing"
    assert judged(case, tmp_path) == without, "a cache that knows it"
