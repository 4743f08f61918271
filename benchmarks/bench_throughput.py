"""How many judgements an hour, against the loop that graders use: reset, apply, run pytest, parse its report?

python benchmarks/bench_throughput.py [--rounds 4] [--loaded] [--json FILE]

A repository of 21 sealed tests and one honest patch a round. Two at a time on two cores: the loop (two clones: `git reset --hard`, `git
apply`, `pytest --junitxml`, parse); `trivet gate` on patches that it has not seen, on a base that it has (wall, controls, verdict files);
and `trivet gate` on patches that it has judged before, as when an agent or a grader asks again. The loop believes what the run writes.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from measure import ROOT, Figure, arguments, finish, in_turn, quartiles, under_load
from small_project import build, git

START = "import sys\nfrom trivet.__main__ import run\nsys.exit(run())\n"
SIDE_BY_SIDE = 2


class Judges:
    """Both ways of judging the patches of one repository; each call judges the next two patches, side by side."""

    def __init__(self, folder: Path, patches: int) -> None:
        self.folder, self.repo = folder, folder / "repo"
        self.repo.mkdir()
        self.patches = build(self.repo, patches)
        self.next = {"loop": 0, "fresh": 0, "again": 0}
        for number in range(SIDE_BY_SIDE):
            git(folder, "clone", "--quiet", str(self.repo), f"clone{number}")
        for name in self.patches:
            (folder / f"{name}.diff").write_bytes(git(self.repo, "diff", "base", name))
        (folder / "trivet").write_text(START)
        self.env = {"PATH": os.defpath, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": str(ROOT / "src")}

    def pair(self, way: str) -> None:
        """Judge the next two patches in one way."""
        at = self.next[way] % len(self.patches)
        self.next[way] += SIDE_BY_SIDE
        judge = self.by_loop if way == "loop" else self.by_trivet
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            for job in [pool.submit(judge, name, number) for number, name in enumerate(self.patches[at : at + SIDE_BY_SIDE])]:
                job.result()

    def by_loop(self, patch: str, number: int) -> None:
        """Reset, apply, run, parse."""
        clone, report = self.folder / f"clone{number}", self.folder / f"report{number}.xml"
        git(clone, "reset", "--quiet", "--hard", "base")
        git(clone, "apply", str(self.folder / f"{patch}.diff"))
        call = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", "tests/sealed"]
        subprocess.run(call, cwd=clone, env=self.env, check=False, capture_output=True)
        suites = ET.parse(report).getroot()
        if sum(int(suite.get("failures", 1)) + int(suite.get("errors", 1)) for suite in suites.iter("testsuite")):
            raise SystemExit("the loop must be green")

    def by_trivet(self, patch: str, number: int) -> None:
        """The whole gate, as its users start it."""
        call = [sys.executable, str(self.folder / "trivet"), "gate", "--repo", str(self.repo), "--base", "base", "--head", patch]
        call += ["--out", str(self.folder / f"out{number}")]
        done = subprocess.run(call, env=self.env, check=False, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"the gate must be green: {done.stdout[-500:]}{done.stderr[-500:]}")


def main() -> int:
    options = arguments(__doc__, rounds=4).parse_args()
    with tempfile.TemporaryDirectory() as name:
        # One patch more, which teaches base to the gate before anything is timed.
        judges = Judges(Path(name), SIDE_BY_SIDE * options.rounds + 1)
        judges.by_trivet(judges.patches.pop(), 0)
        calls = {"loop": lambda: judges.pair("loop"), "trivet, new patches": lambda: judges.pair("fresh")}
        with under_load(options):
            taken = in_turn(calls, rounds=options.rounds, warm=0)
            again = in_turn({"trivet, asked again": lambda: judges.pair("again")}, rounds=options.rounds, warm=0)
        taken.wall |= again.wall
        taken.cpu |= again.cpu
    figures = []
    for way, limit in (
        ("trivet, asked again", "two process starts"),
        ("trivet, new patches", "the tests themselves run once more, with controls; the loop's cost is pytest's start"),
    ):
        ratios = taken.ratios("loop", way)
        figures.append(
            Figure(id="P5", what=f"judgements an hour over the loop: {way}", value=statistics.median(ratios), unit="times", way="at least",
                   goal=15, limit=limit, spread=quartiles(ratios)))  # fmt: skip
    hours = {way: round(3600 * SIDE_BY_SIDE / taken.median(way)) for way in taken.wall}
    return finish(options, __file__, figures, taken, judgements_an_hour=hours)


if __name__ == "__main__":
    sys.exit(main())
