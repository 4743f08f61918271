"""What the gate would have said of the last commits of a repository, so that a team can look before it adopts.

One policy is held against every commit: the one that is considered, the tip's own, or a guess from what the tip holds. Nothing is run: a
commit of production code alone would be scored, which is told as that. Each commit is a change from its first parent.
"""

from __future__ import annotations

import fnmatch
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from trivet.errors import PolicyError, TrivetError, UsageError
from trivet.git import CommitTree, Repository, Tree, open_repository
from trivet.legs import oracle as oracle_leg
from trivet.model import ChangeFacts, Commit, Entry, Policy, Seal, SkipSite, text_of
from trivet.pace import SILENT, Show, Tick
from trivet.sealed.changes import read_changes
from trivet.sealed.policy import read_policy
from trivet.sealed.skips import scan_skips
from trivet.zones import Zones, match

Word = Literal["scored", "nothing to score", "needs an owner", "blocked", "cannot be judged"]
WORDS: dict[Word, str] = {
    "scored": "production code alone: the sealed tests decide",
    "nothing to score": "documentation, drafts and the like",
    "needs an owner": "sealed or control paths without production code: an owner sends or approves it",
    "blocked": "whoever wrote it",
    "cannot be judged": "the repository cannot be read as it must be",
}
"""What would become of a commit, and what that means."""

MOST = 100_000
"""Commits that one call may look at."""
_SKIPS_S, _PART = 10.0, 10
"""Seconds after which no more test files are searched for skips; how many are searched in one go."""
_TESTS = ("test", "tests", "testing")
_NOT_PRODUCTION = frozenset({*_TESTS, "docs", "doc", "examples", "example", "benchmarks", "scripts", "tools", "build", "dist", "ci"})
_POLICY = b"trivet.toml"
_ADOPTED = (_POLICY, b".pyrefix-lanes.toml", b"tests/sealed", b"tests/oracles")


@dataclass(frozen=True, slots=True, kw_only=True)
class TryRequest:
    """What to look at: ``count`` commits back from ``head`` along first parents; ``config``: a policy file that is considered."""

    repo: Path
    head: str = "HEAD"
    count: int = 50
    config: Path | None = None
    show: Show = SILENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One commit: what would become of it, by which rules, and the first path that each rule names."""

    commit: str
    subject: str
    word: Word
    reasons: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """All of them, newest first. ``config``: the guessed policy as TOML ("" = none had to be guessed). ``skips``: today's, unleased."""

    head: str
    policy: Policy
    config: str
    rows: tuple[Row, ...]
    sealed: int
    """Sealed test files of the tip."""
    skips: tuple[SkipSite, ...]
    scanned: int
    """In how many of them it was looked for skips."""

    def counts(self) -> dict[Word, int]:
        """How many commits got each word, in the order of ``WORDS``; words that nobody got are left out."""
        found = Counter(row.word for row in self.rows)
        return {word: found[word] for word in WORDS if found[word]}

    def reasons(self, word: Word) -> list[tuple[str, int]]:
        """How many commits of a word each rule speaks against; a commit may count for several."""
        found = (rule for row in self.rows if row.word == word for rule in dict.fromkeys(rule for rule, _ in row.reasons))
        return Counter(found).most_common()

    def paths(self, *words: Word) -> list[tuple[str, int]]:
        """The paths that speak against most commits of these words."""
        found = (path for row in self.rows if row.word in words for path in dict.fromkeys(path for _, path in row.reasons))
        return Counter(found).most_common()


def look_back(request: TryRequest) -> Tried:
    """Classify the last commits.

    Raises:
        UsageError: the number or the revision is wrong, or there is no commit with a parent.
        PolicyError: the policy cannot be read.
        GitError: the repository cannot be read as it must be (a shallow clone, for one).
    """
    if not 1 <= request.count <= MOST:
        raise UsageError(f"the number of commits must be 1 to {MOST}, not {request.count}")
    with open_repository(request.repo) as repository:
        tip = repository.commit(request.head)
        policy, config = _policy(CommitTree(repository, tip, "tip"), request.config)
        zones = Zones(policy.zones)
        pairs = tuple(_pairs(repository, tip, request.count))
        if not pairs:
            raise UsageError("there is no commit with a parent to look at", where=str(request.repo))
        request.show.step("classifying commits")
        rows = []
        for number, (head, parent) in enumerate(pairs):
            rows.append(_row(repository, parent, head, policy, zones))
            request.show.tick(Tick(run="try", what="commits", done=number + 1, total=len(pairs)))
        request.show.tick(Tick(run="try", over=True))
        request.show.step("looking for skips among today's tests")
        tests = _tests(CommitTree(repository, tip, "tip"), policy)
        skips, scanned = _skips(CommitTree(repository, tip, "tip"), tests, policy)
    return Tried(head=tip.oid, policy=policy, config=config, rows=tuple(rows), sealed=len(tests), skips=skips, scanned=scanned)


def _skips(tree: CommitTree, tests: tuple[str, ...], policy: Policy) -> tuple[tuple[SkipSite, ...], int]:
    """Unconditional skips, and in how many test files it was looked for them: a very large suite is not read to its end."""
    began, found, scanned = time.monotonic(), dict[SkipSite, None](), 0
    while scanned < len(tests) and time.monotonic() - began < _SKIPS_S:
        part = tests[scanned : scanned + _PART]
        found.update(dict.fromkeys(site for site in scan_skips(tree, part, policy=policy) if not site.conditional))
        scanned += len(part)
    return tuple(found), scanned


def _pairs(repository: Repository, tip: Commit, count: int) -> Iterator[tuple[str, str]]:
    """(commit, first parent), newest first."""
    oid = tip.oid
    for _ in range(count):
        parent = next((row.split(b" ")[1].decode() for row in _header(repository, oid) if row.startswith(b"parent ")), "")
        if not parent:
            return
        yield oid, parent
        oid = parent


def _header(repository: Repository, oid: str) -> list[bytes]:
    return repository.raw_commit(oid).partition(b"\n\n")[0].split(b"\n")


def _row(repository: Repository, parent: str, oid: str, policy: Policy, zones: Zones) -> Row:
    subject = text_of(repository.raw_commit(oid).partition(b"\n\n")[2].lstrip().partition(b"\n")[0])[:200]
    try:
        facts = read_changes(repository, repository.commit(parent), repository.commit(oid), policy, zones)
    except TrivetError as error:
        return Row(commit=oid, subject=subject, word="cannot be judged", reasons=(("TRV209", error.message),))
    word, reasons = classify(facts)
    return Row(commit=oid, subject=subject, word=word, reasons=reasons)


def classify(facts: ChangeFacts) -> tuple[Word, tuple[tuple[str, str], ...]]:
    """What would become of one change, and (rule, path) of what speaks against it.

    Manifests are taken as in step: a team that adopts keeps them so with `trivet seal`.
    """
    kind = oracle_leg.change_kind(facts.changes)
    found = oracle_leg.judge(facts, _NO_DRIFT).findings
    reasons = tuple(dict.fromkeys((row.rule, text_of(row.path or b"")) for row in found if row.level == "error"))
    wrong = any(row.level == "error" for row in oracle_leg.findings_of_names(facts))
    if kind == "mixed" or wrong:
        return "blocked", reasons
    if kind == "oracle":
        return "needs an owner", reasons
    return ("scored" if any(change.zone == "source" for change in facts.changes) else "nothing to score"), ()


_NO_DRIFT = Seal(tests=("any",), drifts=())


# --- which policy -------------------------------------------------------------------------------


class _Considered:
    """A tree as it would be with another policy file."""

    def __init__(self, tree: Tree, data: bytes, label: str) -> None:
        self._tree, self._data, self.label = tree, data, label

    def entries(self, under: tuple[bytes, ...] = ()) -> tuple[Entry, ...]:
        rows = [row for row in self._tree.entries(under) if row.path != _POLICY]
        if not under or any(path == _POLICY or _POLICY.startswith(path + b"/") for path in under):
            rows.append(Entry(path=_POLICY, mode=0o100644, oid=""))
        return tuple(sorted(rows, key=lambda row: row.path))

    def read(self, path: bytes) -> bytes | None:
        return self._data if path == _POLICY else self._tree.read(path)


def _policy(tree: CommitTree, config: Path | None) -> tuple[Policy, str]:
    """The policy that counts, and the text of a guess where it is one."""
    if config is not None:
        try:
            data = config.read_bytes()
        except OSError as error:
            raise UsageError(f"the policy cannot be read: {error.strerror or error}", where=str(config)) from error
        return replace(read_policy(_Considered(tree, data, str(config))), source=str(config)), ""
    if any(tree.repository.find(tree.commit.tree, path) is not None for path in _ADOPTED):
        return read_policy(tree), ""
    text = guess(tree)
    try:
        policy = read_policy(_Considered(tree, text.encode(), tree.label))
        return replace(policy, source=f"a guess from {tree.label}"), text
    except PolicyError as error:
        message = f"no policy could be guessed: {error.message}"
        raise PolicyError(message, where=error.where, hint="write one and name it with --config") from error


def guess_for(request: TryRequest) -> str:
    """The guess for a repository, whatever policy it has.

    Raises:
        UsageError: there is no such revision.
    """
    with open_repository(request.repo) as repository:
        return guess(CommitTree(repository, repository.commit(request.head), "tip"))


def guess(tree: Tree) -> str:
    """A first ``trivet.toml`` for a repository without one: all tests that it has are sealed, its packages are production code."""
    paths = [text_of(entry.path) for entry in tree.entries()]
    oracle = sorted(_test_places(paths)) or ["tests/**"]
    source, roots = _source_places(paths)
    rows = [
        "# A guess: every test that stands today is sealed. Read it, correct it, keep it as trivet.toml.",
        "schema = 1",
        "",
        "[zones]",
        f"source = {_list(source)}",
        f"oracle = {_list([*oracle, '/ci/oracle/**', '/ci/flake_leases.json'])}",
        'proposed = ["tests/proposed/**"]',
        "",
        "[oracle]",
        'manifest = "ci/oracle/MANIFEST.txt"',
        "digests = []",
        "",
        "[score]",
        f"paths = {_list(roots)}",
    ]
    return "\n".join(rows) + "\n"


def _list(items: list[str]) -> str:
    quoted = ('"' + item.replace("\\", "\\\\").replace('"', '\\"') + '"' for item in items)
    return "[" + ", ".join(quoted) + "]"


def _is_test(name: str) -> bool:
    return fnmatch.fnmatch(name, "test_*.py") or fnmatch.fnmatch(name, "*_test.py")


def _test_places(paths: list[str]) -> set[str]:
    """Patterns for the outermost test folders, and for test files that lie among production code."""
    found = set()
    for path in paths:
        *folders, name = path.split("/")
        if not _is_test(name) or (folders and folders[0] in _NOT_PRODUCTION - {*_TESTS}):
            continue
        depth = next((number for number, folder in enumerate(folders) if folder in _TESTS), None)
        if depth is not None:
            found.add("/" + "/".join(folders[: depth + 1]) + "/**")
        else:
            found |= {"test_*.py", "*_test.py"}
    return found


def _source_places(paths: list[str]) -> tuple[list[str], list[str]]:
    """Patterns of production code and the import path: below src/, else the packages and modules at the root."""
    if any(path.startswith("src/") and path.endswith(".py") for path in paths):
        return ["src/**"], ["src", "."]
    packages = sorted({path.partition("/")[0] for path in paths if path.endswith("/__init__.py")} - _NOT_PRODUCTION)
    modules = [path for path in paths if "/" not in path and path.endswith(".py") and not _is_test(path) and path != "setup.py"]
    patterns = [f"/{name}/**" for name in packages] + [f"/{name}" for name in sorted(modules) if name not in ("conftest.py", "noxfile.py")]
    return patterns or ["src/**"], ["."]


def _tests(tree: CommitTree, policy: Policy) -> tuple[str, ...]:
    """The sealed test files of a tree, by the patterns of its own pytest configuration."""
    paths = (text_of(entry.path) for entry in tree.entries() if entry.path.endswith(b".py") and match(policy.zones.oracle, entry.path))
    return tuple(path for path in paths if any(fnmatch.fnmatch(path.rpartition("/")[2], row) for row in policy.oracle.test_patterns))
