"""How often does `trivet flake` name the right cause, what do its runs cost, and does anything steady pass for flaky?

Every case of ``flakes/flaky.toml`` and ``flakes/steady.toml`` becomes a file of one small repository. Right is a flaky test whose cause is
the named one, and a steady failure that is said to fail in every run. Then the ledger is tried: no steady failure may be leased as flaky,
and the lease that is written for a flaky failure must cover no other failure of the corpus.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from trivet.leasing.desk import open_desk
from trivet.leasing.flake import Found, look
from trivet.leasing.lab import open_lab
from trivet.signature import matches, plain, signature_of

HERE = Path(__file__).resolve().parent / "flakes"
FILES = {
    "trivet.toml": 'schema = 1\n[score]\npaths = ["src"]\n',
    "src/pkg/__init__.py": "",
    "src/pkg/core.py": "def double(n):\n    return 2 * n\n",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One test of the corpus; ``cause`` "" is a steady failure."""

    id: str
    test: str
    text: str
    cause: str = ""

    @property
    def file(self) -> str:
        """Where it is written."""
        return f"tests/sealed/test_{'f' if self.cause else 's'}_{self.id}.py"


def cases() -> list[Case]:
    """The whole corpus."""
    found = []
    for name in ("flaky", "steady"):
        rows = tomllib.loads((HERE / f"{name}.toml").read_text("utf-8"))["case"]
        found += [Case(row["id"], row.get("test", "test_a"), row["text"].lstrip("\n"), row.get("cause", "")) for row in rows]
    return found


def lay(root: Path, corpus: list[Case]) -> None:
    """Write the repository."""
    files = {**FILES, **{case.file: case.text for case in corpus}}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    subprocess.run(["git", "init", "-q", root], check=True)


def judged(root: Path, corpus: list[Case], python: str, *, now: float) -> Found:
    """Run the corpus through the walk of ``trivet flake``."""
    with open_lab(open_desk(root, now), python, lambda _line: None) as lab:
        return look(lab, [case.file for case in corpus], say=lambda line: print(line, file=sys.stderr))


def misses(found: Found, corpus: list[Case]) -> dict[str, str]:
    """Cases that were judged wrong: id to what was said."""
    said = {test.id: test for test in found.tests}
    wrong = {}
    for case in corpus:
        mine = [test for name, test in said.items() if name.startswith(case.file) and name.partition("[")[0].endswith("::" + case.test)]
        if not mine:
            wrong[case.id] = "did not run"
        elif case.cause and (mine[0].kind, mine[0].cause) != ("flaky", case.cause):
            wrong[case.id] = f"{case.cause}: said {mine[0].kind} {mine[0].cause} {mine[0].shown_by} {mine[0].detail}"
        elif not case.cause and mine[0].kind != "fails":
            wrong[case.id] = f"steady: said {mine[0].kind} {mine[0].cause} {mine[0].shown_by}"
    return wrong


def covered_by_others(found: Found) -> list[str]:
    """Failures that the lease of another failure would cover, if its test failed so."""
    known = [(name, why, signature_of(why.type, why.message, why.file)) for name, why in found.failures]
    wrong = []
    for name, mine, signature in known:
        for _, other, _ in known:
            same = (mine.type, plain(mine.message)) == (other.type, plain(other.message))
            if not same and matches(signature, type_=other.type, message=other.message, file=mine.file):
                wrong.append(f"{name}: {signature} covers {other.type}: {other.message}")
    return wrong


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="interpreter with pytest")
    parser.add_argument("--only", action="append", default=[], help="ids")
    args = parser.parse_args()
    corpus = [case for case in cases() if not args.only or case.id in args.only]
    with tempfile.TemporaryDirectory() as folder:
        lay(Path(folder), corpus)
        found = judged(Path(folder), corpus, args.python, now=Path(folder).stat().st_mtime)
    wrong = misses(found, corpus)
    flaky = [case for case in corpus if case.cause]
    right = sum(case.id not in wrong for case in flaky)
    steady = [case for case in corpus if not case.cause]
    for name, why in wrong.items():
        print(f"miss  {name}: {why}")
    print(f"flaky: right cause {right} of {len(flaky)}; steady: {sum(case.id not in wrong for case in steady)} of {len(steady)}")
    print(f"plain {found.plain_s:.2f} s; " + ", ".join(f"{name} {seconds / found.plain_s:.2f}x" for name, seconds in found.seconds))
    leased = [test.id for test in found.tests if test.kind == "flaky" and "/test_s_" in test.id]
    covered = covered_by_others(found)
    print(f"steady failures that could be leased as flaky: {len(leased)}; failures that another's lease covers: {len(covered)}")
    print("\n".join(covered))
    if found.broken:
        print(f"broken runs: {found.broken}")
    return 0 if not leased and not covered and right >= 0.9 * len(flaky) and all(case.id not in wrong for case in steady) else 1


if __name__ == "__main__":
    sys.exit(main())
