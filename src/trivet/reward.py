"""A reward for RL loops and benchmarks: one patch, one judgement by ``trivet gate``, one number that the patch could not touch.

``score(repo, base, patch)`` puts the patch on top of ``base`` in a repository of its own, which borrows the objects of ``repo`` and leaves
it as it is, runs ``trivet gate`` as a child, and reads the files that the command writes. There is no other road to a verdict.

Three things are told apart, since a training loop that takes one for the other learns nonsense:

========  =======  =====================================================================================================
outcome   reward   meaning
========  =======  =====================================================================================================
PASS      1.0      MERGE_OK, and every test that had to turn green did
FAIL      0.0      the gate blocked it: a property does not hold, the measure was touched, a limit was passed, …
INVALID   0.0      there was nothing to judge: the patch does not apply, is empty, or is too large
INFRA     None     the host could not judge; says nothing about the patch. ``suspect`` is true where base itself can be judged
========  =======  =====================================================================================================
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, cast, get_args

from trivet.errors import HostError, TrivetError, UsageError
from trivet.git_home import find_home, git_environment, git_program, make_shadow, object_format_of, refuse_tricks
from trivet.model import LEGS, LegName, Status

Kind = Literal["PASS", "FAIL", "INVALID", "INFRA"]
PATCH_LIMIT_B = 10 * 1024 * 1024
_GIT_S = 120
_STOP_S = 20
_WHO = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "reward"), ("EMAIL", "reward@localhost"), ("DATE", "1700000000 +0000"))
}
"""Fixed, so that one patch on one base is one commit: a second judgement of it is answered from the cache."""


class InfraError(HostError):
    """A reward was demanded where the host could not judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardRecord:
    """What one patch earned, and why.

    ``reward`` is 1.0, 0.0 or None (INFRA). ``missed`` are tests that had to turn green and did not. ``reasons`` are short lines
    ``RULE message``. ``duration_s`` is the whole judgement in seconds. ``decision`` is ``decision.json`` as it was written, empty where
    there is none.
    """

    outcome: Kind
    reward: float | None
    verdicts: Mapping[LegName, Status] = field(default_factory=dict)
    cause: str = ""
    reasons: tuple[str, ...] = ()
    turned_green: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    head: str = ""
    replay_key: str = ""
    duration_s: float = 0.0
    attempts: int = 1
    suspect: bool = False
    decision: Mapping[str, object] = field(default_factory=dict)

    def require(self) -> float:
        """The reward as a number.

        Raises:
            InfraError: the host could not judge; leave the sample out, or judge it again.
        """
        if self.reward is None:
            raise InfraError(
                "no reward: the host could not judge", where="; ".join(self.reasons[:3]), hint="judge the patch again, or leave it out"
            )
        return self.reward


class Scorer:
    """Judges many patches against one repository. Use it as a context manager; threads may share it.

    Args:
        repo: a clone, worktree or bare repository that holds the bases. It is read, never written.
        python: the project's interpreter; None for what the policy on base says.
        options: further options of ``trivet gate``, such as ``("--isolation", "split", "--controls", "all")``.
        timeout_s: seconds for one judgement, the calibration of base included.
        retries: how often an INFRA outcome is judged again.
        environ: the environment of the child; None for this process's own.

    Raises:
        UsageError: ``repo`` is no repository.
        GitError: its history cannot be trusted (shallow, replace refs, grafts).
    """

    def __init__(
        self,
        repo: Path | str,
        *,
        python: str | None = None,
        options: Sequence[str] = (),
        timeout_s: float = 1800.0,
        retries: int = 1,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        home = find_home(Path(repo))
        refuse_tricks(home)
        self._folder = tempfile.TemporaryDirectory(prefix="trivet-reward-")
        self._root = Path(self._folder.name)
        self._git_dir = make_shadow(home, self._root, object_format_of(home))
        self._program = git_program()
        self._options = [*(("--python", python) if python else ()), "--no-advisory", *options]
        self._timeout_s, self._retries = timeout_s, retries
        self._environ = dict(os.environ if environ is None else environ)  # noqa: TID251 - a library's door: the caller may pass one

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Remove everything that was written."""
        self._folder.cleanup()

    def score(self, base: str, patch: str | bytes, *, must_turn_green: Iterable[str] = ()) -> RewardRecord:
        """Judge one patch, in the format of ``git diff``, on top of one commit.

        Args:
            base: the trusted commit: its full id.
            patch: the change, as text or bytes.
            must_turn_green: ids of sealed tests that are red on base and have to pass now; the gate asks for all sealed tests anyway, so
                this only guards against a task whose tests were never red.

        Raises:
            UsageError: ``base`` is no commit of the repository.
        """
        tree = self._tree(base)
        raw = patch.encode("utf-8", "surrogateescape") if isinstance(patch, str) else patch
        head = self._head(base, tree, raw)
        if isinstance(head, RewardRecord):
            return head
        return self.score_commit(base, head, must_turn_green=must_turn_green)

    def score_commit(self, base: str, head: str, *, must_turn_green: Iterable[str] = ()) -> RewardRecord:
        """Judge one commit that the repository has, as ``score`` judges a patch."""
        record = self._judged(base, head, must_turn_green)
        for attempt in range(2, self._retries + 2):
            if record.outcome != "INFRA":
                return record
            record = replace(self._judged(base, head, must_turn_green), attempts=attempt)
        if record.outcome == "INFRA":
            # A patch must not be able to choose INFRA over 0 unseen: where base itself can be judged, the patch is what differs.
            alone = self._judged(base, self._commit(base, self._tree(base)), ())
            return replace(record, suspect=alone.outcome in ("PASS", "FAIL"))
        return record

    def _tree(self, base: str) -> str:
        if not base or base.startswith("-"):
            raise UsageError(f"not a commit: {base!r}")
        done = self._git("rev-parse", "--verify", "--quiet", f"{base}^{{commit}}", "--")
        if done.returncode:
            raise UsageError(f"unknown commit {base!r}", hint="fetch it into the repository first, and name it by its full id")
        return self._git("rev-parse", "--verify", "--quiet", f"{base}^{{tree}}").stdout.decode().strip()

    def _head(self, base: str, tree: str, patch: bytes) -> str | RewardRecord:
        if len(patch) > PATCH_LIMIT_B:
            return _invalid(f"the patch has {len(patch)} bytes; {PATCH_LIMIT_B} are allowed")
        if not patch.strip():
            return _invalid("the patch is empty")
        with tempfile.TemporaryDirectory(prefix="index-", dir=self._root) as folder:
            env = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self._checked("read-tree", tree, env=env)
            text = patch if patch.endswith(b"\n") else patch + b"\n"
            done = self._git("apply", "--cached", "--whitespace=nowarn", "-", env=env, data=text)
            if done.returncode:
                said = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
                return _invalid("the patch does not apply: " + (said[0][:500] if said else "git gave no reason"))
            after = self._checked("write-tree", env=env).stdout.decode().strip()
        return _invalid("the patch changes nothing") if after == tree else self._commit(base, after)

    def _commit(self, base: str, tree: str) -> str:
        return self._checked("commit-tree", tree, "-p", base, "-m", "patch to score", env=_WHO).stdout.decode().strip()

    def _git(self, *args: str, env: Mapping[str, str] | None = None, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        whole = {**git_environment(self._program, self._git_dir), **(env or {})}
        try:
            return subprocess.run(
                [self._program, *args], env=whole, input=data, capture_output=True, timeout=_GIT_S, check=False, cwd=self._root
            )
        except subprocess.TimeoutExpired as error:
            raise TrivetError(f"git {args[0]} took longer than {_GIT_S} s", where=str(self._git_dir)) from error

    def _checked(self, *args: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
        done = self._git(*args, env=env)
        if done.returncode:
            raise TrivetError(f"git {args[0]} failed: {done.stderr.decode('utf-8', 'backslashreplace').strip()[:500]}")
        return done

    def _judged(self, base: str, head: str, must_turn_green: Iterable[str]) -> RewardRecord:
        with tempfile.TemporaryDirectory(prefix="out-", dir=self._root) as folder:
            out = Path(folder) / "out"
            argv = [sys.executable, "-m", "trivet", "gate", "--repo", str(self._git_dir), "--base", base, "--head", head, "--out", str(out)]
            status, said = _run([*argv, *self._options], self._environ, self._root, self._timeout_s)
            decision = _read(out / "decision.json")
        return replace(record_of(decision, status, said, must_turn_green), head=head)


def score(repo: Path | str, base: str, patch: str | bytes, *, must_turn_green: Iterable[str] = (), **options: object) -> RewardRecord:
    """Judge one patch; ``options`` are those of ``Scorer``.

    Raises:
        UsageError: ``repo`` is no repository, or ``base`` none of its commits.
    """
    with Scorer(repo, **options) as scorer:  # type: ignore[arg-type]
        return scorer.score(base, patch, must_turn_green=must_turn_green)


def record_of(decision: Mapping[str, object], status: int | None, said: str = "", must_turn_green: Iterable[str] = ()) -> RewardRecord:
    """What a decision, and the exit status of the command that wrote it (None: it was stopped), come to. Pure.

    A PASS needs both: exit status 0 and a decision in which all three legs passed. A FAIL needs a leg that says FAIL. All else is INFRA.
    """
    verdicts = _verdicts(decision)
    facts = _facts(decision, said)
    green = facts.turned_green
    if status == 0 and decision.get("merge") is True and [*verdicts.values()] == ["PASS"] * len(LEGS):
        missed = tuple(test for test in must_turn_green if test not in green)
        if missed:
            reasons = tuple(f"did not turn green: {test}" for test in missed)
            return replace(facts, outcome="FAIL", reward=0.0, cause="not-fixed", missed=missed, reasons=reasons)
        return replace(facts, outcome="PASS", reward=1.0)
    if status == 1 and decision.get("merge") is False and "FAIL" in verdicts.values():
        return replace(facts, outcome="FAIL", reward=0.0)
    told = "the judgement was stopped: it took too long" if status is None else f"trivet gate ended with {status}"
    return replace(facts, outcome="INFRA", reward=None, reasons=(*facts.reasons, told, *([said] if said else [])))


def _facts(decision: Mapping[str, object], _said: str) -> RewardRecord:
    run, key, green = decision.get("run"), decision.get("replay_key"), decision.get("turned_green")
    duration = run.get("duration_s") if isinstance(run, dict) else None
    return RewardRecord(
        outcome="INFRA",
        reward=None,
        verdicts=_verdicts(decision),
        cause=next((str(leg.get("cause")) for leg in _legs(decision) if leg.get("cause")), ""),
        reasons=tuple(_reasons(decision)),
        turned_green=tuple(map(str, green)) if isinstance(green, list) else (),
        replay_key=str(key.get("digest", "")) if isinstance(key, dict) else "",
        duration_s=float(duration) if isinstance(duration, (int, float)) else 0.0,
        decision=decision,
    )


def _legs(decision: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    verdicts = decision.get("verdicts")
    for leg in LEGS:
        found = verdicts.get(leg) if isinstance(verdicts, dict) else None
        if isinstance(found, dict):
            yield found


def _verdicts(decision: Mapping[str, object]) -> dict[LegName, Status]:
    words = [leg.get("status") for leg in _legs(decision)]
    if len(words) != len(LEGS) or any(word not in get_args(Status) for word in words):
        return {}
    return {leg: cast("Status", word) for leg, word in zip(LEGS, words, strict=True)}


def _reasons(decision: Mapping[str, object]) -> Iterator[str]:
    for leg in _legs(decision):
        rows = leg.get("findings")
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, dict) and row.get("level", "error") == "error":
                yield f"{row.get('rule', '')} {row.get('message', '')}"[:1000]


def red_tests(decision: Mapping[str, object]) -> tuple[str, ...]:
    """The sealed tests whose property does not hold, by their whole ids: of those that ran, the ones that a finding speaks of."""
    run = decision.get("run")
    durations = run.get("durations") if isinstance(run, dict) else None
    told = [reason.removeprefix("TRV201 ") for reason in _reasons(decision) if reason.startswith("TRV201 ")]
    ran = [str(test) for test in durations] if isinstance(durations, dict) else []
    # An id may hold blanks and brackets, so it is looked up and not cut out.
    return tuple(test for test in ran if any(text == test or text.startswith((f"{test} (", f"{test}: ")) for text in told))


def _invalid(why: str) -> RewardRecord:
    return RewardRecord(outcome="INVALID", reward=0.0, cause="invalid", reasons=(why,))


def _read(path: Path) -> Mapping[str, object]:
    with contextlib.suppress(OSError, ValueError):
        data = json.loads(path.read_bytes())
        if isinstance(data, dict):
            return data
    return {}


def _run(argv: list[str], environ: Mapping[str, str], cwd: Path, timeout_s: float) -> tuple[int | None, str]:
    """Run a command to its end or its time limit; the exit status (None: it was stopped) and the first line that it said was wrong."""
    with subprocess.Popen(
        argv,
        cwd=cwd,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        try:
            _, error = child.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            # SIGTERM first: the command then ends what it started behind the wall and removes its folders.
            child.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.communicate(timeout=_STOP_S)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            return None, ""
    lines = [line for line in error.decode("utf-8", "backslashreplace").splitlines() if line.strip()]
    told = next((line for line in lines if line.startswith("error ")), lines[-1] if lines else "")
    return child.returncode, told[:500]
