"""Cut a mixed change in two: production code on base, and oracles and control files on base, each a branch that can be judged.

This is the one walk that writes to the user's repository, on request: objects, and two branches that did not exist.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from trivet.errors import GitError, PolicyError, UsageError
from trivet.git import GITLINK, CommitTree, Repository, open_repository
from trivet.git_home import git_environment, git_program
from trivet.legs import oracle as oracle_leg
from trivet.legs.oracle import change_kind
from trivet.model import Change, Commit, Duty, Finding, Policy, Zone, text_of
from trivet.rules import RULES
from trivet.sealed.changes import read_changes
from trivet.sealed.manifest import read_seal
from trivet.sealed.owners import read_owners
from trivet.sealed.policy import read_policy
from trivet.zones import Zones

_SHORT = 12
_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One half: its branch and commit, its paths, and how it would be judged. ``owners`` may send or approve the oracle part.

    ``findings``: what oracle-integrity would say against it already, before anything runs.
    """

    branch: str
    commit: str
    paths: tuple[tuple[str, Zone], ...]
    judged: str
    owners: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def split(path: Path, base_rev: str, head_rev: str, *, force: bool = False) -> tuple[Part, Part]:
    """Make the source branch and the oracle branch of a mixed change.

    Args:
        path: the repository.
        base_rev: the trusted revision; both branches start there.
        head_rev: the mixed change.
        force: move branches of these names that exist already.

    Raises:
        UsageError: the change is not mixed, does not merge into base, or a branch exists.
        GitError: the repository cannot be read or written.
    """
    with open_repository(path) as repository:
        base, head = repository.commit(base_rev), repository.commit(head_rev)
        tree = CommitTree(repository, base, "base")
        policy = read_policy(tree)
        zones = Zones(policy.zones)
        changes = read_changes(repository, base, head, policy, zones).changes
        if change_kind(changes) != "mixed":
            raise UsageError(f"there is nothing to split: this is {_word(changes)}", hint="`trivet gate` judges it as it stands")
        merged = repository.merge(base, head)
        if merged.conflicts:
            raise UsageError(f"{text_of(merged.conflicts[0])} does not merge into base", hint="rebase on base first")
        owners = read_owners(tree, policy)
        moved = {change.path: change for change in changes}
        sealed = {name for name, change in moved.items() if change.zone in ("oracle", "control")}
        rows = {row.path: (row.new_mode, row.new_oid) if row.new_mode else None for row in repository.diff(base.tree, merged.tree)}
        writer = _Writer(repository, base, head)
        source = {name: leaf for name, leaf in rows.items() if name not in sealed}
        oracle = {name: leaf for name, leaf in rows.items() if name in sealed}
        names = tuple(dict.fromkeys(owner for name in sorted(sealed) for owner in owners.of(name)))
        short = head.oid[:_SHORT]
        writer.check(f"trivet/split-source-{short}", f"trivet/split-oracle-{short}", force=force)
        first = writer.branch(f"trivet/split-source-{short}", source, "Production code", force=force)
        second = writer.branch(f"trivet/split-oracle-{short}", oracle, "Oracles and control files", force=force)
        judge = _Judge(repository, base, policy, zones)
        judged, findings = judge.patch(repository.commit(first))
        source_part = Part(
            branch=f"trivet/split-source-{short}", commit=first, paths=_paths(source, moved), judged=judged, findings=findings
        )
        judged, findings = judge.oracle_change(repository.commit(second), owners.duties)
        oracle_part = Part(
            branch=f"trivet/split-oracle-{short}",
            commit=second,
            paths=_paths(oracle, moved),
            judged=judged,
            owners=names,
            findings=findings,
        )
        return source_part, oracle_part


class _Judge:
    """Says how a branch would be judged, as far as that can be said before anything runs."""

    def __init__(self, repository: Repository, base: Commit, policy: Policy, zones: Zones) -> None:
        self._repository, self._base, self._policy, self._zones = repository, base, policy, zones
        self._seal = read_seal(CommitTree(repository, base, "base"), policy, zones)

    def patch(self, commit: Commit) -> tuple[str, tuple[Finding, ...]]:
        """The source part: oracle-integrity, and what src-score would run."""
        facts = read_changes(self._repository, self._base, commit, self._policy, self._zones)
        verdict = oracle_leg.judge(facts, self._seal)
        files = len(self._seal.tests)
        ran = f"src-score runs the {files} sealed test {'file' if files == 1 else 'files'} of base on it"
        rest = ran if verdict.status == "PASS" else "src-score would not run"
        return f"a patch: oracle-integrity {verdict.status}; {rest}", verdict.findings

    def oracle_change(self, commit: Commit, duties: Callable[[bytes], tuple[Duty, ...]]) -> tuple[str, tuple[Finding, ...]]:
        """The oracle part: who has to stand behind it, and whether its manifests are in step with its files."""
        facts = read_changes(self._repository, self._base, commit, self._policy, self._zones)
        tree = CommitTree(self._repository, commit, "oracle part")
        findings = list(oracle_leg.findings_of_names(facts))
        try:
            policy = read_policy(tree)
            findings += oracle_leg.findings_of_seal(read_seal(tree, policy, Zones(policy.zones)))
        except PolicyError as error:
            findings.append(Finding(rule="TRV127", message=error.message, path=b"trivet.toml", next=RULES["TRV127"].next))
        for change in facts.changes:
            if not duties(change.path):
                message = f"base's CODEOWNERS names nobody for {text_of(change.path)}: only signed commits can move it"
                findings.append(Finding(rule="TRV116", message=message, path=change.path, level="warning", next=RULES["TRV116"].next))
        wrong = any(finding.level == "error" for finding in findings)
        word = "an owner has to send or approve it"
        word = "oracle-integrity FAIL, whoever sends it, until what is told here is mended" if wrong else word
        return f"an oracle change: {word}; then its new and changed properties are tried on base's source", tuple(findings)


def _word(changes: Iterable[Change]) -> str:
    kind = change_kind(changes)
    return {"patch": "a patch", "oracle": "an oracle change", "empty": "an empty change", "mixed": "a mixed change"}[kind]


def _paths(rows: Iterable[bytes], moved: dict[bytes, Change]) -> tuple[tuple[str, Zone], ...]:
    return tuple((text_of(name), moved[name].zone) for name in sorted(rows) if name in moved)


class _Writer:
    """Writes commits and branches to the user's repository by plumbing, without its index, hooks or configuration."""

    def __init__(self, repository: Repository, base: Commit, head: Commit) -> None:
        self._repository = repository
        self._base, self._head = base, head
        self._git_dir = repository.home.git_dir
        self._program = git_program()

    def check(self, *names: str, force: bool) -> None:
        """Refuse branches that exist."""
        for name in names:
            if not force and self._call("rev-parse", "-q", "--verify", f"refs/heads/{name}", fails=True):
                raise UsageError(f"the branch {name} exists already", hint="--force moves it")

    def branch(self, name: str, rows: dict[bytes, tuple[int, str] | None], what: str, *, force: bool) -> str:
        """Commit base with these leaves changed, and point a branch to it."""
        with tempfile.TemporaryDirectory(prefix="trivet-split-") as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
            self._call("read-tree", self._base.tree, env=index)
            self._call("update-index", "-z", "--index-info", data=self._index_rows(rows), env=index)
            tree = self._call("write-tree", env=index)
        message = f"{what} of {self._head.oid[:_SHORT]}\n\nThe other part is on the branch beside this one.\n"
        commit = self._call("commit-tree", tree, "-p", self._base.oid, data=message.encode(), env=self._identity())
        old = () if force else ("0" * len(commit),)
        self._call("update-ref", f"refs/heads/{name}", commit, *old)
        return commit

    def _index_rows(self, rows: dict[bytes, tuple[int, str] | None]) -> bytes:
        parts = []
        for path, leaf in sorted(rows.items()):
            if leaf is None:
                parts.append(b"0 " + b"0" * len(self._base.oid) + b"\t" + path + b"\0")
                continue
            mode, oid = leaf
            if mode != GITLINK and not self._call("cat-file", "-e", oid, fails=True, status=True):
                # A blob that only the merge made.
                oid = self._call("hash-object", "-w", "-t", "blob", "--stdin", data=self._repository.blob(oid))
            parts.append(f"{mode:06o} {oid}\t".encode() + path + b"\0")
        return b"".join(parts)

    def _identity(self) -> dict[str, str]:
        """The author of head's commit, who is also named as committer."""
        found = re.search(rb"^author (.*?) <(.*?)> (\d+ [+-]\d{4})$", self._repository.raw_commit(self._head.oid), re.MULTILINE)
        name, mail, date = (part.decode("utf-8", "replace") for part in found.groups()) if found else ("trivet", "trivet", "0 +0000")
        return {
            **{f"GIT_{who}_NAME": name or "unknown" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": mail for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_DATE": date for who in ("AUTHOR", "COMMITTER")},
        }

    def _call(self, *args: str, data: bytes = b"", env: dict[str, str] | None = None, fails: bool = False, status: bool = False) -> str:
        """Run one git command; with ``fails`` a failure gives "", with ``status`` success gives "yes"."""
        done = subprocess.run(
            [self._program, *args],
            input=data,
            capture_output=True,
            check=False,
            timeout=_TIMEOUT_S,
            env={**git_environment(self._program, self._git_dir), **(env or {})},
            cwd=self._git_dir,
        )
        if done.returncode:
            if fails:
                return ""
            raise GitError(f"git {args[0]} failed: {done.stderr.decode('utf-8', 'replace').strip()[:300]}", where=str(self._git_dir))
        return "yes" if status else done.stdout.decode().strip()
