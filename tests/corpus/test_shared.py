"""A stratified sample of the shared corpora, where they are: from each family one attack and one honest case.

``make corpus`` judges them all. Where the folder is not there (``TRIVET_SHARED`` names it), the test has nothing to do and passes: nothing that
this repository promises depends on them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("TRIVET_SHARED", ROOT.parent / "shared"))
CORPORA = [path for name in ("cases", "cases-runtime") if (path := SHARED / name).is_dir() and (SHARED / "judge" / "run_cases.py").exists()]


def sample(corpus: Path) -> list[str]:
    """The first attack and the first honest case of each family, by name."""
    seen: dict[tuple[str, str], str] = {}
    for path in sorted((corpus / "cases").glob("*.toml")):
        case = tomllib.loads(path.read_text("utf-8"))
        seen.setdefault((case["family"], case["kind"]), path.stem)
    return sorted(seen.values())


@pytest.mark.corpus
@pytest.mark.parametrize("corpus", CORPORA or [None], ids=[path.name for path in CORPORA] or ["none-here"])
def test_a_sample_of_the_shared_cases_is_right(corpus: Path | None, tmp_path: Path, case_cache: Path) -> None:
    if corpus is None:
        return  # nothing to sample here
    call = [sys.executable, str(SHARED / "judge" / "run_cases.py"), "--corpus", str(corpus), "--jobs", "1", "--json", str(tmp_path / "r.json")]
    call += ["--trivet", f"{sys.executable} -m trivet", "--python", sys.executable]
    for name in sample(corpus):
        call += ["--only", name]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "XDG_CACHE_HOME": str(case_cache)}
    done = subprocess.run(call, capture_output=True, text=True, check=False, env=env)
    results = json.loads((tmp_path / "r.json").read_text())
    attacks = [row for row in results if row["kind"] == "attack"]
    caught = sum(row.get("exit") != 0 for row in attacks)
    print(f"{corpus.name}: {caught}/{len(attacks)} attacks caught, {sum(bool(row.get('right')) for row in results)}/{len(results)} right")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
