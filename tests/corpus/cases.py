"""Cases as data: a folder with ``case.toml`` and, where whole files are needed, ``base/`` and ``head/``.

``case.toml``: ``story``, ``base`` (a folder of ``bases/``), ``merge``, ``rules`` (ids that must be found), ``legs`` (statuses that must
be), ``good`` (ids that must not be found), ``base_edits`` and ``head_edits`` (tables of path, old, new), ``moved_edits`` (what base did
after head left it), ``remove`` (paths that head deletes), ``links`` (path to target), ``after`` (git commands, run at the end), ``review``
(evidence; ``HEAD`` stands for the head commit), ``status`` (the exit status, where it is not 0 or 1), ``options`` (of the gate).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from trivet.git import PlainTree
from trivet.sealed.digest import digest_of
from trivet.sealed.policy import read_policy
from trivet.zones import Zones

HERE = Path(__file__).parent
CASES = HERE / "cases"
SRC = HERE.parents[1] / "src"
NOW = "2026-12-01T12:00:00Z"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case as written."""

    id: str
    folder: Path
    story: str
    merge: bool
    base: str = "kiln"
    rules: list[str] = field(default_factory=list)
    good: list[str] = field(default_factory=list)
    legs: dict[str, str] = field(default_factory=dict)
    base_edits: list[dict[str, str]] = field(default_factory=list)
    head_edits: list[dict[str, str]] = field(default_factory=list)
    remove: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    moved_edits: list[dict[str, str]] = field(default_factory=list)
    after: list[list[str]] = field(default_factory=list)
    review: dict[str, object] = field(default_factory=dict)
    status: int | None = None
    options: list[str] = field(default_factory=list)


def load() -> list[Case]:
    """Every case, by name."""
    return [Case(id=path.parent.name, folder=path.parent, **tomllib.loads(path.read_text("utf-8"))) for path in sorted(CASES.glob("*/case.toml"))]


def build(case: Case, repo: Path) -> None:
    """A repository with the tags ``base`` and ``head``."""
    shutil.copytree(HERE / "bases" / case.base, repo, copy_function=shutil.copyfile)
    _overlay(case.folder / "base", repo, case.base_edits)
    _fill(repo)
    git(repo, "init", "--quiet", "--initial-branch=main")
    _commit(repo, "base")
    _overlay(case.folder / "head", repo, case.head_edits)
    for path in case.remove:
        (repo / path).unlink()
    for path, target in case.links.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).unlink(missing_ok=True)
        (repo / path).symlink_to(target)
    _commit(repo, "head")
    git(repo, "checkout", "--quiet", "--detach", "base")
    if case.moved_edits:
        _overlay(case.folder / "moved", repo, case.moved_edits)
        git(repo, "tag", "--delete", "base")
        _commit(repo, "base")
    for command in case.after:
        git(repo, *command)


def judge(case: Case, work: Path, *, cache: Path, sabotage: str = "") -> list[str]:
    """Build and judge one case; what is not as it must be, in words.

    Args:
        case: the case.
        work: an empty folder.
        cache: where the gate keeps its records of base.
        sabotage: Python that runs before the gate, to break it.
    """
    repo, out = work / "repo", work / "out"
    build(case, repo)
    call = ["gate", "--repo", str(repo), "--base", "base", "--head", "head", "--out", str(out), "--python", sys.executable, *case.options]
    if case.review:
        head = git(repo, "rev-parse", "head^{commit}")
        (work / "review.json").write_text(json.dumps(case.review).replace("HEAD", head))
        call += ["--review", str(work / "review.json")]
    program = f"import sys\n{sabotage}\nfrom trivet.cli import main\nsys.exit(main(sys.argv[1:]))\n"
    env = {"PATH": os.environ["PATH"], "HOME": str(work), "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(SRC), "LANG": "C.UTF-8"}
    done = subprocess.run([sys.executable, "-c", program, *call], env=env, capture_output=True, text=True, check=False, timeout=180)
    return problems_of(case, out, done.returncode, done.stdout + done.stderr)


def problems_of(case: Case, out: Path, status: int, said: str) -> list[str]:
    """What of the files and the exit status is not as the case wants it."""
    try:
        decision = json.loads((out / "decision.json").read_text("ascii"))
    except (OSError, ValueError) as error:
        return [f"no decision: {error}; exit status {status}; {said[-1500:]}"]
    verdicts = decision["verdicts"]
    words = {leg: (out / f"{leg.replace('-', '_')}.txt").read_text() for leg in verdicts}
    found = {finding["rule"] for verdict in verdicts.values() for finding in verdict["findings"]}
    wanted = case.status if case.status is not None else 0 if case.merge else 1
    problems = []
    if decision["merge"] is not case.merge:
        problems.append(f"merge is {decision['merge']}")
    if status != wanted:
        problems.append(f"the exit status is {status}, not {wanted}")
    problems += [f"{leg} is {verdicts[leg]['status']}, not {word}" for leg, word in case.legs.items() if verdicts[leg]["status"] != word]
    problems += [f"{leg}.txt says {word!r}" for leg, word in words.items() if word != verdicts[leg]["status"] + "\n"]
    problems += [f"{rule} was not found" for rule in case.rules if rule not in found]
    problems += [f"{rule} was found" for rule in case.good if rule in found]
    if problems:
        problems.append(f"findings: {[(leg, f['rule'], f['message'][:200]) for leg, v in verdicts.items() for f in v['findings']]}")
    return problems


def git(repo: Path, *args: str) -> str:
    """Run git with a fixed name and date."""
    env = {"PATH": os.environ["PATH"], "HOME": str(repo.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    for who in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{who}_NAME": "someone", f"GIT_{who}_EMAIL": "someone@example.org", f"GIT_{who}_DATE": NOW}
    done = subprocess.run(["git", "-C", str(repo), *args], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _fill(repo: Path) -> None:
    """Put digests of sealed tests (``@DIGEST file function@``, ``@WEAK …@``) and expiries (``@DAYS n@`` from now) into the ledger."""
    ledger = repo / "ci" / "flake_leases.json"
    text = ledger.read_text("utf-8")
    if "@" not in text:
        return
    tree = PlainTree({str(path.relative_to(repo)).encode(): path.read_bytes() for path in repo.rglob("*") if path.is_file()})
    zones = Zones(read_policy(tree).zones)

    def digest(match: re.Match[str]) -> str:
        made = digest_of(tree, match[2], match[3], is_sealed=lambda path: zones.place(path).zone == "oracle")
        return made.strong if match[1] == "DIGEST" else made.weak

    text = re.sub(r"@(DIGEST|WEAK) (\S+) (\S+?)@", digest, text)
    ledger.write_text(re.sub(r"@DAYS (-?\d+)@", lambda match: str(int(time.time()) + 86_400 * int(match[1])), text), "utf-8")


def _overlay(folder: Path, repo: Path, edits: list[dict[str, str]]) -> None:
    if folder.is_dir():
        shutil.copytree(folder, repo, dirs_exist_ok=True, copy_function=shutil.copyfile)  # fresh times: git compares them
    for edit in edits:
        path = repo / edit["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text("utf-8") if path.exists() else ""
        assert edit["old"] in text, f"{edit['path']} does not hold {edit['old']!r}"
        path.write_text(text.replace(edit["old"], edit["new"], 1) if edit["old"] else text + edit["new"], "utf-8")


def _commit(repo: Path, tag: str) -> None:
    git(repo, "add", "--all", "--force")
    git(repo, "commit", "--quiet", "--allow-empty", f"--message={tag}")
    git(repo, "tag", tag)
