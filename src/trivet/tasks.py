"""Importers: SWE-bench-like task files to repositories that the gate can judge.

A task names a repository, a base commit, a patch to the tests (``test_patch``), which tests have to turn green (``FAIL_TO_PASS``) and which
have to stay green (``PASS_TO_PASS``), and often the reference solution (``patch``). ``read_tasks`` reads such files (JSON, JSON lines;
lists may be JSON inside a text, as that data set has them). ``prepare`` makes a clone in which the tests are sealed: the base of every
judgement. ``check`` says whether a task is fit to reward anybody: doing nothing must fail, the reference solution must pass.

Files of tests that the task does not name are ``proposed``: an attempt may change them, and they decide nothing. Named test files, and
all other files beside them (``conftest.py``, helpers, data), are oracles: an attempt that touches them is blocked, whereas a harness that
copies its tests over the attempt would let it pass.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from trivet.errors import TrivetError, UsageError
from trivet.git_home import git_environment, git_program
from trivet.reward import RewardRecord, Scorer, red_tests
from trivet.sealing import seal

_GIT_S = 600
_FILE_LIMIT_B = 2 * 1024**3
_TEST_FOLDERS = ("test", "tests", "testing")
_MOST_EXCLUDED = 200
_WHO = ("-c", "user.name=trivet", "-c", "user.email=trivet@localhost", "-c", "commit.gpgsign=false")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task. ``fail_to_pass`` and ``pass_to_pass`` are pytest ids; ``reference`` is the known solution as a patch, or empty."""

    id: str
    repo: str
    base: str
    test_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...] = ()
    reference: str = ""
    statement: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """The test files that the task's ids are in, sorted."""
        return tuple(sorted({test.partition("::")[0] for test in (*self.fail_to_pass, *self.pass_to_pass)}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A task that can be judged: a clone, and the commit in which its tests are sealed. ``excluded`` are tests left out, with reasons."""

    task: Task
    repo: Path
    base: str
    excluded: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCheck:
    """Whether a task rewards what it should. ``fit``: nothing done fails, the reference passes."""

    prepared: Prepared
    nothing: RewardRecord
    reference: RewardRecord | None
    problem: str = ""

    @property
    def fit(self) -> bool:
        """Whether rewards of this task mean something."""
        return not self.problem


def read_tasks(path: Path) -> Iterator[Task]:
    """Read a task file: one JSON object a line, or one JSON list.

    Raises:
        UsageError: the file cannot be read, or a task lacks a key or has one of the wrong shape; the message names the task and key.
    """
    try:
        if path.stat().st_size > _FILE_LIMIT_B:
            raise UsageError("the task file is larger than 2 GiB", where=str(path))
        with path.open(encoding="utf-8") as file:
            first = file.read(1)
            while first.isspace():
                first = file.read(1)
            file.seek(0)
            rows: Iterable[object] = json.load(file) if first == "[" else (json.loads(line) for line in file if line.strip())
            for number, row in enumerate(rows, 1):
                yield task_of(row, where=f"{path.name}, task {number}")
    except OSError as error:
        raise UsageError(f"the task file cannot be read: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise UsageError(
            f"the task file is not JSON: {error}", where=str(path), hint="JSON lines, or one JSON list; convert other formats first"
        ) from error


def task_of(row: object, *, where: str = "") -> Task:
    """One task from its plain data.

    Raises:
        UsageError: a key is missing or of the wrong shape, or the ids are not those of pytest.
    """
    if not isinstance(row, dict):
        raise UsageError("a task is a JSON object", where=where)
    name = _text(row, "instance_id", where)
    where = f"{where} ({name})" if where else name
    task = Task(
        id=name,
        repo=_text(row, "repo", where),
        base=_text(row, "base_commit", where),
        test_patch=_text(row, "test_patch", where),
        fail_to_pass=_ids(row, "FAIL_TO_PASS", where),
        pass_to_pass=_ids(row, "PASS_TO_PASS", where),
        reference=_text(row, "patch", where, missing=""),
        statement=_text(row, "problem_statement", where, missing=""),
    )
    if not task.fail_to_pass:
        raise UsageError("FAIL_TO_PASS is empty: a task that asks for nothing rewards everything", where=where)
    odd = [
        file for file in task.files if not file.endswith(".py") or PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts
    ]
    if odd:
        raise UsageError(f"not the id of a pytest test: {odd[0]!r}", where=where, hint="ids look like tests/test_x.py::test_y")
    return task


def _text(row: Mapping[str, object], key: str, where: str, *, missing: str | None = None) -> str:
    value = row.get(key, missing)
    if not isinstance(value, str) or (missing is None and not value.strip()):
        raise UsageError(f"{key} must be a text" + (" and not empty" if missing is None else ""), where=where)
    return value


def _ids(row: Mapping[str, object], key: str, where: str) -> tuple[str, ...]:
    value = row.get(key, [])
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise UsageError(f"{key} is a text that is no JSON list", where=where) from error
    if not isinstance(value, list) or any(not isinstance(test, str) for test in value):
        raise UsageError(f"{key} must be a list of test ids", where=where)
    return tuple(dict.fromkeys(value))


def prepare(task: Task, source: Path, out: Path) -> Prepared:
    """Clone ``source`` to ``out``, put the task's tests on its base, seal them, and commit: the base of every judgement of the task.

    Args:
        task: what to prepare.
        source: a repository that holds the task's base commit. It is read, never written.
        out: the folder to make; it must not exist.

    Raises:
        UsageError: ``out`` exists, the base commit is unknown, the test patch does not apply, or a named test file is not there.
    """
    if out.exists():
        raise UsageError(f"{out} exists", hint="name a new folder")
    git = _Git(out)
    git.run("clone", "-q", "--no-checkout", "--no-tags", "--", str(source.absolute()), str(out), cwd=source)
    if git.run("cat-file", "-e", f"{task.base}^{{commit}}", check=False).returncode:
        raise UsageError(f"{source} has no commit {task.base[:40]!r}", where=task.id, hint="fetch it first")
    git.run("checkout", "-q", "-B", "trivet-base", task.base)
    applied = git.run("apply", "--index", "--whitespace=nowarn", "-", data=task.test_patch.encode() + b"\n", check=False)
    if applied.returncode:
        raise UsageError(f"the test patch does not apply: {_said(applied)}", where=task.id)
    lost = [file for file in task.files if not (out / file).is_file()]
    if lost:
        raise UsageError(f"no test file {lost[0]!r} once the test patch is applied", where=task.id)
    return _sealed(Prepared(task=task, repo=out, base=""), git)


def _sealed(prepared: Prepared, git: _Git) -> Prepared:
    tracked = git.run("ls-files", "-z").stdout.decode("utf-8", "surrogateescape").split("\0")
    (prepared.repo / "trivet.toml").write_text(policy_text(prepared.task, [name for name in tracked if name], prepared.excluded), "utf-8")
    (prepared.repo / "trivet-task").mkdir(exist_ok=True)
    (prepared.repo / "trivet-task" / "leases.json").write_text('{"leases": []}\n', "utf-8")
    done = seal(prepared.repo)
    wrong = [drift for drift in done.left if drift.level == "error"]
    if wrong:
        raise UsageError(f"the tests cannot be sealed: {wrong[0].message}", where=f"{prepared.task.id}: {wrong[0].path}")
    git.run("add", "-A", "-f", "--", ".")
    git.run(*_WHO, "commit", "-q", "--allow-empty", "--no-verify", "-m", f"Seal the tests of {prepared.task.id}")
    return replace(prepared, base=git.run("rev-parse", "HEAD").stdout.decode().strip())


def policy_text(task: Task, tracked: Iterable[str], excluded: Iterable[tuple[str, str]] = ()) -> str:
    """The ``trivet.toml`` of a task: test files and what stands beside them are oracles, other tests are proposed, the rest is source."""
    roots = {_root(file) for file in task.files}
    beside = [name for name in tracked if any(name.startswith(f"{root}/") for root in roots if root) and not _is_test(name)]
    oracles = [_pattern(name) for name in sorted({*task.files, *beside})]
    proposed = [*sorted({f"/{root}/**" if root else "" for root in roots} - {""}), "test_*.py", "*_test.py"]
    tables = "".join(f"\n[[score.exclude]]\nid = {json.dumps(test)}\nreason = {json.dumps(why)}\n" for test, why in excluded)
    return (
        f"# Made for the task {task.id}.\n"
        "schema = 1\n"
        'preset = "verdicts"\n\n'
        "[zones]\n"
        'source = ["**"]\n'
        f"oracle = {json.dumps([*oracles, '/trivet-task/**'], indent=1)}\n"
        f"proposed = {json.dumps(proposed)}\n\n"
        "[oracle]\n"
        'manifest = "trivet-task/MANIFEST.txt"\n'
        'leases = "trivet-task/leases.json"\n'
        "digests = []\n\n"
        "[score]\n"
        'paths = ["src", "."]\n'
        f"{tables}"
    )


def _root(file: str) -> str:
    """The folder of tests that a file is in: up to the first part that is called so; else the folder of the file."""
    parts = PurePosixPath(file).parts[:-1]
    named = next((place for place, part in enumerate(parts, 1) if part in _TEST_FOLDERS), len(parts))
    return "/".join(parts[:named])


def _is_test(name: str) -> bool:
    stem = PurePosixPath(name).name
    return stem.endswith(".py") and (stem.startswith("test_") or stem.endswith("_test.py"))


def _pattern(name: str) -> str:
    return "/" + "".join(f"\\{char}" if char in "*?[]\\!# " else char for char in name)


def check(prepared: Prepared, *, judge: Callable[[Path], Scorer] = Scorer) -> TaskCheck:
    """Judge doing nothing, which must fail, and the reference solution, which must pass.

    Tests of the named files that the task does not name, and that the reference solution leaves red, are excluded with that reason, and the
    task is sealed anew (``TaskCheck.prepared``).

    Args:
        prepared: the task.
        judge: makes a scorer for a repository, such as ``partial(Scorer, python=…, timeout_s=…)``.

    Raises:
        TrivetError: git failed.
    """
    task = prepared.task
    if not task.reference:
        nothing = _nothing(prepared, judge)
        problem = "" if nothing.outcome == "FAIL" else f"doing nothing gives {nothing.outcome}"
        return TaskCheck(prepared=prepared, nothing=nothing, reference=None, problem=problem or "there is no reference solution to try")
    known = {*task.fail_to_pass, *task.pass_to_pass}
    while True:
        with judge(prepared.repo) as scorer:
            reference = scorer.score(prepared.base, task.reference, must_turn_green=task.fail_to_pass)
        red = [test for test in red_tests(reference.decision) if test not in known and test.partition("::")[0] in task.files]
        more = tuple((test, "the task does not name it, and its reference solution leaves it red") for test in red)
        if not more or len(prepared.excluded) + len(more) > _MOST_EXCLUDED or {*more} <= {*prepared.excluded}:
            break
        prepared = _sealed(replace(prepared, excluded=(*prepared.excluded, *more)), _Git(prepared.repo))
    nothing = _nothing(prepared, judge)
    problems = [] if nothing.outcome == "FAIL" else [f"doing nothing gives {nothing.outcome}"]
    if reference.outcome != "PASS":
        problems.append(f"the reference solution gives {reference.outcome}: " + "; ".join(reference.reasons[:3]))
    return TaskCheck(prepared=prepared, nothing=nothing, reference=reference, problem=", and ".join(problems))


def _nothing(prepared: Prepared, judge: Callable[[Path], Scorer]) -> RewardRecord:
    git = _Git(prepared.repo)
    tree = git.run("rev-parse", f"{prepared.base}^{{tree}}").stdout.decode().strip()
    head = git.run(*_WHO, "commit-tree", tree, "-p", prepared.base, "-m", "Do nothing").stdout.decode().strip()
    with judge(prepared.repo) as scorer:
        return scorer.score_commit(prepared.base, head, must_turn_green=prepared.task.fail_to_pass)


class _Git:
    """Git in one work tree of ours, without anybody's configuration or hooks."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._program = git_program()

    def run(self, *args: str, data: bytes = b"", cwd: Path | None = None, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        env = git_environment(self._program, self._root / ".git")
        del env["GIT_DIR"]
        env["GIT_ALLOW_PROTOCOL"] = "file"
        count = int(env["GIT_CONFIG_COUNT"])
        env |= {f"GIT_CONFIG_KEY_{count}": "protocol.file.allow", f"GIT_CONFIG_VALUE_{count}": "always", "GIT_CONFIG_COUNT": str(count + 1)}
        done = subprocess.run(
            [self._program, *args], cwd=cwd or self._root, env=env, input=data, capture_output=True, timeout=_GIT_S, check=False
        )
        if check and done.returncode:
            raise TrivetError(f"git {args[0]} failed: {_said(done)}", where=str(self._root))
        return done


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
    return lines[0][:500] if lines else "git gave no reason"
