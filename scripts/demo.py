"""Show what the gate is for: one honest patch that merges, and cheats that do not, each with its reason.

    demo.py [--only NAME] [--keep DIR] [--verbose]

Builds the repository of examples/demo in a temporary folder, commits base and each patch, judges them as a user would, and ends with 0
only if every verdict is the expected one. Standard library only, besides the trivet that is installed.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

DEMO = Path(__file__).resolve().parent.parent / "examples" / "demo"
LEGS = ("src-score", "oracle-integrity", "flake-lease")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One patch as it was judged; ``problem`` is "" where the gate said what it must say."""

    title: str
    story: str
    merge: bool
    reasons: tuple[str, ...]
    text: str
    seconds: float
    problem: str


def git(repo: Path, *args: str) -> str:
    """Run git with a name and a date of its own."""
    env = {
        "PATH": os.environ["PATH"],  # noqa: TID251 - a script is a door
        "HOME": str(repo.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "demo"), ("EMAIL", "demo@example.org"))
        },
    }
    return subprocess.run(["git", "-C", str(repo), *args], check=True, capture_output=True, text=True, env=env).stdout.strip()


def build(repo: Path, names: list[str]) -> None:
    """Commit base and, each as its child, the patches; tags name them."""
    shutil.copytree(DEMO / "base", repo, copy_function=shutil.copyfile)
    git(repo, "init", "--quiet", "--initial-branch=main")
    git(repo, "add", "--all", "--force")
    git(repo, "commit", "--quiet", "--message=A parking tariff")
    git(repo, "tag", "base")
    for name in names:
        git(repo, "checkout", "--quiet", "--detach", "base")
        shutil.copytree(DEMO / "patches" / name / "files", repo, dirs_exist_ok=True, copy_function=shutil.copyfile)
        git(repo, "add", "--all", "--force")
        git(repo, "commit", "--quiet", f"--message={name}")
        git(repo, "tag", name)
    git(repo, "checkout", "--quiet", "--detach", "base")


def judge(repo: Path, name: str, out: Path) -> Judged:
    """Judge one patch and compare the verdict with what ``patch.toml`` expects."""
    expected = tomllib.loads((DEMO / "patches" / name / "patch.toml").read_text("utf-8"))
    call = ["-m", "trivet", "gate", "--repo", str(repo), "--base", "base", "--head", name, "--out", str(out), "--python", sys.executable]
    began = time.monotonic()
    cache = {**os.environ, "XDG_CACHE_HOME": str(repo.parent / "cache")}  # noqa: TID251 - a script is a door
    done = subprocess.run([sys.executable, *call], capture_output=True, text=True, check=False, env=cache)
    seconds = time.monotonic() - began
    problem, reasons = "", []
    try:
        decision = json.loads((out / "decision.json").read_text("ascii"))
        verdicts = decision["verdicts"]
        reasons = [
            f"{leg:16}  {finding['rule']}  {finding['path'] or ''}  {finding['message'].splitlines()[0][:160]}".replace("    ", "  ")
            for leg in LEGS
            for finding in verdicts[leg]["findings"]
            if finding["level"] == "error"
        ]
        rules = {finding["rule"] for verdict in verdicts.values() for finding in verdict["findings"]}
        if decision["merge"] is not expected["merge"] or done.returncode != (0 if expected["merge"] else 1):
            problem = f"merge is {decision['merge']} and the exit status {done.returncode}"
        elif expected["fails"] and all(verdicts[leg]["status"] != "FAIL" for leg in expected["fails"]):
            problem = f"none of {', '.join(expected['fails'])} objects"
        elif not set(expected["rules"]) <= rules:
            problem = f"the rules {', '.join(sorted(set(expected['rules']) - rules))} are missing"
    except (OSError, ValueError, KeyError) as error:
        problem = f"exit status {done.returncode} and no decision ({error}); {done.stderr.strip()[-600:]}"
    return Judged(
        title=expected["title"],
        story=expected["story"],
        merge=done.returncode == 0,
        reasons=tuple(reasons),
        text=done.stdout,
        seconds=seconds,
        problem=problem,
    )


def tell(judged: Judged, *, verbose: bool) -> None:
    """Print one patch: what it does, what the gate says, why."""
    word = "MERGES " if judged.merge else "BLOCKED"
    sys.stdout.write(f"{word}  {judged.title}: {judged.story}  ({judged.seconds:.1f} s)\n")
    for reason in judged.reasons[:3]:
        sys.stdout.write(f"         {reason}\n")
    if verbose:
        sys.stdout.write("\n" + "".join(f"    | {line}\n" for line in judged.text.splitlines()) + "\n")
    if judged.problem:
        sys.stdout.write(f"         NOT AS EXPECTED: {judged.problem}\n")
    sys.stdout.flush()


def main() -> int:
    """Build, judge, tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], help="judge the patches whose folder name contains this")
    parser.add_argument("--keep", type=Path, help="keep repository and verdict files in this folder")
    parser.add_argument("--verbose", action="store_true", help="show the whole report of each patch")
    args = parser.parse_args()
    names = sorted(path.parent.name for path in (DEMO / "patches").glob("*/patch.toml"))
    names = [name for name in names if not args.only or any(part in name for part in args.only)]
    home = args.keep or Path(tempfile.mkdtemp(prefix="trivet-demo-"))
    home.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        build(home / "repo", names)
        sys.stdout.write("A parking tariff whose sealed tests are red in one place, and what is sent to get them green:\n\n")
        judged = []
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for result in pool.map(lambda name: judge(home / "repo", name, home / "out" / name), names):
                tell(result, verbose=args.verbose)
                judged.append(result)
    finally:
        if not args.keep:
            shutil.rmtree(home, ignore_errors=True)
    merged = sum(result.merge for result in judged)
    wrong = sum(bool(result.problem) for result in judged)
    seconds = time.monotonic() - began
    sys.stdout.write(f"\n{merged} merged, {len(judged) - merged} blocked, {wrong} not as expected, in {seconds:.0f} s\n")
    return 1 if wrong or not judged else 0


if __name__ == "__main__":
    sys.exit(main())
