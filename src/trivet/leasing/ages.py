"""Since when the rows of a ledger stand in its history."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from trivet.errors import TrivetError
from trivet.git_home import find_home, git_environment, git_program

_HEAD = re.compile(rb"^(?P<commit>[0-9a-f]{40,64}) \d+ (?P<line>\d+)")
_LIMIT_S = 60


def since(root: Path, path: bytes) -> dict[int, float]:
    """When each line of a file of a work tree was last written, in seconds since the epoch.

    Lines that are not committed yet have no moment; outside of a git work tree no line has one.
    """
    try:
        home = find_home(root)
        program = git_program()
    except TrivetError:
        return {}
    if home.work_tree is None:
        return {}
    env = git_environment(program, home.git_dir) | {"GIT_WORK_TREE": str(home.work_tree)}
    args = [program, "blame", "--porcelain", "--", os.fsdecode(path)]
    try:
        done = subprocess.run(
            args, cwd=home.work_tree, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return {}
    return _moments(done.stdout) if not done.returncode else {}


def _moments(porcelain: bytes) -> dict[int, float]:
    lines: dict[int, bytes] = {}
    moments: dict[bytes, float] = {}
    commit = b""
    for row in porcelain.splitlines():
        head = _HEAD.match(row)
        if head is not None:
            commit = head["commit"]
            lines[int(head["line"])] = commit
        elif row.startswith(b"author-time ") and row[12:].isdigit():
            moments[commit] = float(row[12:])
    return {line: moments[oid] for line, oid in lines.items() if oid.strip(b"0") and oid in moments}
