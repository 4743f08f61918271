"""What does `trivet gate` cost where the same question was answered before, against `python -c pass` and against the suite itself?

python benchmarks/bench_hit.py [--rounds 25] [--loaded] [--json FILE]

A repository of 21 sealed tests is judged once; then, in turn: `python -c pass`, the same `trivet gate` again (git, the look-up, all verdict
files and the report), and plain pytest. Every call is a process of its own, started in the same way by the same interpreter.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import ROOT, Figure, arguments, finish, in_turn, quartiles, under_load
from small_project import build

START = "import sys\nfrom trivet.__main__ import run\nsys.exit(run())\n"


def main() -> int:
    options = arguments(__doc__, rounds=25).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repo = folder / "repo"
        repo.mkdir()
        (head,) = build(repo, 1)
        script = folder / "trivet"
        script.write_text(START)
        env = {"PATH": os.defpath, "HOME": name, "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": str(ROOT / "src")}
        gate = [sys.executable, str(script), "gate", "--repo", str(repo), "--base", "base", "--head", head, "--out", str(folder / "out")]
        first = subprocess.run(gate, env=env, check=True, capture_output=True, text=True)
        again = subprocess.run(gate, env=env, check=True, capture_output=True, text=True)
        if "from the cache" in first.stderr or "MERGE_OK" not in again.stdout:
            raise SystemExit("the first judgement must be a real one, and green")

        def started(*argv: str) -> None:
            subprocess.run(argv, cwd=repo, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        calls = {
            "python -c pass": lambda: started(sys.executable, "-c", "pass"),
            "trivet gate, a hit": lambda: started(*gate),
            "plain pytest": lambda: started(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/sealed"),
        }
        with under_load(options):
            taken = in_turn(calls, rounds=options.rounds)
    bare, suite = taken.ratios("trivet gate, a hit", "python -c pass"), taken.ratios("trivet gate, a hit", "plain pytest")
    cpu = taken.ratios("trivet gate, a hit", "python -c pass", cpu=True)
    floor = statistics.median(taken.ratios("python -c pass", "plain pytest"))
    limit = "1 for Python itself, 0.2 for git, 0.3 for sqlite's library; the rest is modules of ours and ten files"
    figures = [
        Figure(id="P7", what="hit by command line over python -c pass", value=statistics.median(bare), unit="times", goal=3.0, limit=limit,
               spread=quartiles(bare)),
        Figure(id="P7", what="the same, CPU", value=statistics.median(cpu), unit="times", goal=3.0, limit=limit, spread=quartiles(cpu)),
        Figure(id="P4", what="hit over plain pytest, 21 tests", value=statistics.median(suite), unit="times", goal=0.1,
               limit=f"python -c pass alone over plain pytest: {floor:.2f}", spread=quartiles(suite)),
    ]  # fmt: skip
    return finish(options, __file__, figures, taken)


if __name__ == "__main__":
    sys.exit(main())
