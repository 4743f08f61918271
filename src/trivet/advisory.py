"""The advisory lane: the agent's own tests, run on head's tree in a process of their own, and told. Nothing of it decides.

A proposed test that fails on base and passes on head shows the fix; one that passes on both shows nothing; one that copies a sealed
property adds nothing to it. What changes its outcome over reruns is dropped.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from trivet.advisory_coverage import changed_lines, covered_share
from trivet.advisory_junit import read_junit
from trivet.errors import TrivetError
from trivet.git import CommitTree, Repository, open_repository
from trivet.model import AdvisoryReport, Commit, Entry, Policy, RunRecord, text_of
from trivet.pace import SILENT, Show
from trivet.room import Room
from trivet.scoring import Request, Scene
from trivet.sealed.manifest import read_seal
from trivet.sealed.policy import read_policy
from trivet.stage.cache import Cache
from trivet.stage.overlay import Overlay
from trivet.stage.replay import find_python
from trivet.stage.runner import Runner, Stand
from trivet.stage.wall import choose
from trivet.zones import Zones, match

__all__ = ["AdvisoryRequest", "read_junit", "report", "run"]

_GREEN = frozenset({"passed", "xpassed"})
_RED = frozenset({"failed", "error"})
_REGULAR = (0o100644, 0o100755)
_TEST_TIMEOUT_S = 20.0
"""One proposed test may take no longer: the lane must not hold up the verdict."""
_TOLD = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisoryRequest:
    """The lane by itself, as ``trivet advisory`` asks for it."""

    repo: Path
    base: str
    head: str
    python: str | None = None
    show: Show = SILENT


def report(request: AdvisoryRequest) -> AdvisoryReport | None:
    """Run the lane for two revisions; None when head has no proposed tests.

    Raises:
        TrivetError: base's policy, the interpreter or the wall cannot be had.
    """
    with open_repository(request.repo) as repository:
        base, head = repository.commit(request.base), repository.commit(request.head)
        policy = read_policy(CommitTree(repository, base, "base"))
        zones = Zones(policy.zones)
        if not _proposed(repository, head, policy, zones):
            return None
        with _folder() as folder:
            means = Request(
                wall=choose(policy.score.wall, network=policy.score.network, allow_none=True),
                python=find_python(policy.score, repo=request.repo, asked=request.python),
                scratch=folder,
                cache=Cache(None),
                progress=request.show.step,
                tick=request.show.tick,
            )
            return run(repository, base, head, policy, zones, means)


def run(repository: Repository, base: Commit, head: Commit, policy: Policy, zones: Zones, means: Request) -> AdvisoryReport | None:
    """Run the lane; None when head has no proposed tests.

    Args:
        repository: where both commits are.
        base: the trusted commit.
        head: the judged commit; its whole tree is laid out, and only its proposed tests run.
        policy: base's policy.
        zones: its zones.
        means: wall, interpreter and scratch folder of the scored run.

    Raises:
        TrivetError: the tests could not be run at all.
    """
    proposed = _proposed(repository, head, policy, zones)
    tests = tuple(text_of(entry.path) for entry in proposed if match(policy.oracle.test_patterns, entry.path))
    if not tests:
        return None
    deadline = time.monotonic() + policy.advisory.timeout_s
    with _folder() as folder:
        lane = _Lane(repository, base, head, policy, zones, means, folder, deadline)
        try:
            return lane.report(proposed, tests)
        finally:
            lane.scene.close()


@contextmanager
def _folder() -> Iterator[Path]:
    with Room("trivet-advisory-") as folder:
        folder.chmod(0o711)
        yield folder


def _proposed(repository: Repository, head: Commit, policy: Policy, zones: Zones) -> tuple[Entry, ...]:
    return tuple(
        entry
        for entry in repository.tree(head.tree)
        if match(policy.zones.proposed, entry.path) and entry.mode in _REGULAR and zones.place(entry.path, entry.mode).zone == "proposed"
    )


class _Lane:
    def __init__(
        self,
        repository: Repository,
        base: Commit,
        head: Commit,
        policy: Policy,
        zones: Zones,
        means: Request,
        folder: Path,
        deadline: float,
    ) -> None:
        self.repository, self.base, self.head, self.policy, self.zones = repository, base, head, policy, zones
        self.means, self.deadline = means, deadline
        (folder / "trees").mkdir()
        self.scratch = folder / "runs"
        self.scratch.mkdir()
        proposed = {entry.path: (entry.mode, entry.oid) for entry in _proposed(repository, head, policy, zones)}
        # On base stand base's source and head's drafts, so that the same tests are asked on both sides.
        before = Commit(oid=base.oid, tree=repository.edit(base.tree, proposed))
        after = Overlay(tree=head.tree, entries=repository.tree(head.tree), conflicts=())
        self.scene = Scene(repository, before, after, policy, zones, (), folder / "trees")
        self.notes: list[str] = []

    def report(self, proposed: tuple[Entry, ...], tests: tuple[str, ...]) -> AdvisoryReport:
        self.means.progress("running the proposed tests (they decide nothing)")
        after, before = self.scene.head(), self.scene.base()
        with ThreadPoolExecutor(max_workers=2) as pool:
            first = pool.submit(self._run, after, tests)
            second = pool.submit(self._run, before, tests)
            head, base = first.result(), second.result()
        words = _words(head, base)
        words = self._steady(after, tests, head, words)
        copies = self._copies(proposed)
        told = [
            (name, word + (f", copies the sealed property {copies[_function(name)]}" if _function(name) in copies else ""))
            for name, word in words
        ]
        self._tell_ends(head, copies, words)
        counts: dict[str, int] = {}
        for _, word in words:
            counts[word] = counts.get(word, 0) + 1
        share = self._coverage(after, tests) if self.policy.advisory.coverage else None
        return AdvisoryReport(
            counts=tuple((word, count) for word, count in sorted(counts.items())),
            coverage=share,
            notes=tuple(self.notes),
            tests=tuple(told[:_TOLD]),
        )

    # --- runs -----------------------------------------------------------------------------------

    def _run(self, stand: Stand, tests: tuple[str, ...], ids: list[str] | None = None) -> RunRecord:
        left = max(5.0, self.deadline - time.monotonic())
        score = self.policy.score
        limited = replace(score, timeout_s=left, test_timeout_s=min(score.test_timeout_s, _TEST_TIMEOUT_S), exclude=())
        means = self.means
        runner = Runner(stand=stand, policy=limited, wall=means.wall, python=means.python, scratch=self.scratch, tick=means.tick)
        return runner.run(runner.job(tests, ids=ids))

    def _steady(self, stand: Stand, tests: tuple[str, ...], head: RunRecord, words: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Ask what is red or shows something again; what changes its outcome is called flaky and says no more."""
        outcomes = {result.id: result.outcome for result in head.results}
        ids = [name for name, word in words if word in ("shows the fix", "red") and name in outcomes]
        flaky: set[str] = set()
        for _ in range(self.policy.advisory.reruns if ids else 0):
            if time.monotonic() > self.deadline:
                self.notes.append("no time was left for reruns")
                break
            again = {result.id: result.outcome for result in self._run(stand, tests, ids).results}
            flaky |= {name for name in ids if name in again and again[name] != outcomes[name]}
        return [(name, "flaky" if name in flaky else word) for name, word in words]

    def _tell_ends(self, head: RunRecord, copies: Mapping[tuple[str, str], str], words: list[tuple[str, str]]) -> None:
        if head.end.how != "closed":
            at = f" in {head.end.test}" if head.end.test else ""
            self.notes.append(f"the run of the proposed tests ended early: {head.end.how}{at}")
        for file, text in head.errors[:5]:
            self.notes.append(f"{file} cannot be collected: {text[:300]}")
        copied = sorted({copies[_function(name)] for name, _ in words if _function(name) in copies})
        if copied:
            self.notes.append(f"copies of sealed properties add nothing: {', '.join(copied[:5])}")
        if words and not any(word == "shows the fix" for _, word in words) and any(word == "shows nothing" for _, word in words):
            self.notes.append("no proposed test fails on base and passes here, so none shows what the patch does")

    # --- copies ---------------------------------------------------------------------------------

    def _copies(self, proposed: tuple[Entry, ...]) -> dict[tuple[str, str], str]:
        """Proposed test functions whose body is that of a sealed test: (file, function) → sealed name."""
        tree = CommitTree(self.repository, self.base, "base")
        sealed: dict[str, str] = {}
        for file in read_seal(tree, self.policy, self.zones).tests:
            for name, dump in _bodies(tree.read(file.encode("utf-8", "surrogateescape")) or b""):
                sealed.setdefault(dump, f"{file}::{name}")
        found = {}
        for entry in proposed:
            if entry.path.endswith(b".py"):
                for name, dump in _bodies(self.repository.blob(entry.oid)):
                    if dump in sealed:
                        found[text_of(entry.path), name] = sealed[dump]
        return found

    # --- coverage -------------------------------------------------------------------------------

    def _coverage(self, stand: Stand, tests: tuple[str, ...]) -> float | None:
        """The share of changed source lines that the proposed tests execute; None where it cannot be measured."""
        left = self.deadline - time.monotonic()
        lines = changed_lines(self.repository, self.base, self.head, self.zones)
        if left < 1 or not lines:
            return None
        try:
            share, note = covered_share(lines, stand, tests, self.policy.score, self.means, self.scratch, timeout_s=min(left, 120.0))
        except (TrivetError, OSError) as error:
            share, note = None, f"coverage was not measured: {error}"
        if note:
            self.notes.append(note)
        return share


def _words(head: RunRecord, base: RunRecord) -> list[tuple[str, str]]:
    """One word for each test: what head and base together say about it."""
    before = {result.id: result.outcome for result in base.results}
    words = []
    for result in head.results:
        old = before.get(result.id)
        if result.outcome in _RED:
            word = "red"
        elif result.outcome in _GREEN:
            # A test that base could not even collect or reach is red there.
            word = "shows nothing" if old in _GREEN else "shows the fix"
        else:
            word = "skipped"
        words.append((result.id, word))
    return words


def _function(test: str) -> tuple[str, str]:
    file, *rest = test.split("[", 1)[0].split("::")
    return file, ".".join(rest)


def _bodies(source: bytes) -> Iterator[tuple[str, str]]:
    """``(Class.name or name, text of arguments and body)`` of the test functions of a file; names and comments do not count."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in tree.body:
        for prefix, inner in [("", node)] if not isinstance(node, ast.ClassDef) else [(f"{node.name}.", part) for part in node.body]:
            if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)) and inner.name.startswith("test"):
                first = inner.body[0]
                texts = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
                body = inner.body[1:] if texts else inner.body
                if body and not all(isinstance(part, ast.Pass) for part in body):
                    yield prefix + inner.name, ast.dump(inner.args) + "".join(map(ast.dump, body))
