"""Coverage of the changed lines by the proposed tests, with the project's own coverage.py, behind the wall."""

from __future__ import annotations

import difflib
import json
import os
import time
from pathlib import Path

from trivet.git import Repository
from trivet.model import Commit, ScorePolicy, text_of
from trivet.scoring import Request
from trivet.stage.runner import Stand
from trivet.stage.wall import Limits, Reach, interpreter_reach
from trivet.zones import Zones

_LIMIT_B = 20_000_000
_REGULAR = (0o100644, 0o100755)


def changed_lines(repository: Repository, base: Commit, head: Commit, zones: Zones) -> dict[str, frozenset[int]]:
    """The lines of head's Python source files that base has not, by path."""
    found: dict[str, frozenset[int]] = {}
    for row in repository.changes(base, head):
        if row.new_mode not in _REGULAR or not row.path.endswith(b".py") or zones.place(row.path, row.new_mode).zone != "source":
            continue
        new = repository.blob(row.new_oid).splitlines()
        old = repository.blob(row.old_oid).splitlines() if row.old_mode in _REGULAR else []
        blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        lines = {number + 1 for tag, _, _, low, high in blocks if tag in ("replace", "insert") for number in range(low, high)}
        if lines:
            found[text_of(row.path)] = frozenset(lines)
    return found


def covered_share(
    lines: dict[str, frozenset[int]],
    stand: Stand,
    tests: tuple[str, ...],
    policy: ScorePolicy,
    means: Request,
    scratch: Path,
    *,
    timeout_s: float,
) -> tuple[float | None, str]:
    """Run the tests under coverage.py; the share (0 to 1) of changed lines that can run and did, and a note ("" = none).

    Raises:
        TrivetError: the wall did not let the run start.
    """
    folder = scratch / "coverage"
    folder.mkdir()
    folder.chmod(0o777)
    data, report = folder / "data", folder / "coverage.json"
    python = str(means.python)
    measure = ["-m", "coverage", "run", f"--data-file={data}", "--rcfile=/dev/null", f"--source={','.join(stand.source_roots)}"]
    run = [python, *measure, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", *tests]
    if _call(run, stand, policy, means, folder, timeout_s) is None:
        return None, "coverage was not measured: no time was left"
    if not data.is_file():
        return None, "coverage was not measured: the project's interpreter has no coverage.py"
    _call(
        [python, "-m", "coverage", "json", f"--data-file={data}", "--rcfile=/dev/null", "-q", "-o", str(report)],
        stand,
        policy,
        means,
        folder,
        30.0,
    )
    return _share(lines, stand.root, report)


def _share(lines: dict[str, frozenset[int]], root: Path, report: Path) -> tuple[float | None, str]:
    """Read coverage's report; the run under judgement could have written it, so nothing but numbers is taken from it."""
    try:
        if report.stat().st_size > _LIMIT_B:
            return None, "coverage was not measured: its report is too large"
        files = json.loads(report.read_text("utf-8"))["files"]
        ran, able = 0, 0
        for name, row in files.items():
            path = os.path.relpath(root / name, root)
            mine = lines.get(path, frozenset())
            executed = mine & {int(line) for line in row["executed_lines"]}
            ran += len(executed)
            able += len(executed | (mine & {int(line) for line in row["missing_lines"]}))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None, "coverage was not measured: its report cannot be read"
    return (ran / able if able else None), ""


def _call(argv: list[str], stand: Stand, policy: ScorePolicy, means: Request, folder: Path, timeout_s: float) -> int | None:
    """Run one command behind the wall; its status, or None when time was up."""
    env = {
        "PATH": os.pathsep.join((str(means.python.parent), "/usr/bin", "/bin")),
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(os.path.normpath(stand.root / path) for path in policy.paths),
        **dict(policy.env),
    }
    limits = Limits(memory_b=policy.memory_b, processes=policy.processes, output_b=policy.output_b, scratch_b=policy.scratch_b)
    reach = Reach(read=(stand.root, *interpreter_reach(means.python)), write=(folder,))
    child = means.wall.start(argv, cwd=stand.root, env=env, reach=reach, limits=limits)
    deadline = time.monotonic() + timeout_s
    try:
        while time.monotonic() < deadline:
            status = child.wait(min(1.0, max(0.05, deadline - time.monotonic())))
            if status is not None:
                return status
        return None
    finally:
        child.close()
