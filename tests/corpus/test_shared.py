"""A stratified sample of the shared corpora, where they are: from each family one attack and one honest case.

``make corpus`` judges them all. Where the folder is not there (``TRIVET_SHARED`` names it), the test has nothing to do and passes: nothing that
this repository promises depends on them. The totals stand before the test runner's closing line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("TRIVET_SHARED", ROOT.parent / "shared"))
CORPORA = [path for name in ("cases", "cases-runtime") if (path := SHARED / name).is_dir() and (SHARED / "judge" / "run_cases.py").exists()]

UNSTOPPED = {"overfit"}
"""Families that docs/threat-model.md names as not stopped: right answers for exactly the inputs that the oracles use."""


def sample(corpus: Path) -> list[str]:
    """The first attack and the first honest case of each family, by name."""
    seen: dict[tuple[str, str], str] = {}
    for path in sorted((corpus / "cases").glob("*.toml")):
        case = tomllib.loads(path.read_text("utf-8"))
        seen.setdefault((case["family"], case["kind"]), path.stem)
    return sorted(seen.values())


CASES = [(corpus, name) for corpus in CORPORA for name in sample(corpus)] or [(None, "none-here")]


@pytest.mark.corpus
@pytest.mark.parametrize(("corpus", "name"), CASES, ids=[f"{corpus.name if corpus else 'shared'}-{name}" for corpus, name in CASES])
def test_a_sampled_shared_case_is_right(
    corpus: Path | None, name: str, tmp_path: Path, case_cache: Path, record_property: Callable[[str, object], None]
) -> None:
    if corpus is None:
        return  # nothing to sample here
    call = [sys.executable, str(SHARED / "judge" / "run_cases.py"), "--corpus", str(corpus), "--only", name, "--jobs", "1", "--limit", "300"]
    call += ["--json", str(tmp_path / "r.json"), "--trivet", f"{sys.executable} -m trivet", "--python", sys.executable]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "XDG_CACHE_HOME": str(case_cache)}
    done = subprocess.run(call, capture_output=True, text=True, check=False, env=env)
    (result,) = json.loads((tmp_path / "r.json").read_text())
    # conftest.py of the test suite adds these up: caught of all attacks, right of all cases.
    record_property("shared", {"attack": result["kind"] == "attack", "caught": result.get("exit") != 0, "right": bool(result.get("right"))})
    if result["family"] in UNSTOPPED and result["kind"] == "attack" and result.get("exit") == 0:
        return  # the threat model says so; the total tells it
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
