"""``score.prepare``: a build command of base's policy, run once in each tree behind the wall, before any test."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from trivet.errors import ProbeError
from trivet.model import ScorePolicy
from trivet.stage.overlay import loosen
from trivet.stage.wall import Limits, Reach, Wall, interpreter_reach

_KEPT = 600


def prepare(root: Path, policy: ScorePolicy, *, wall: Wall, python: Path, scratch: Path) -> None:
    """Run the command in the tree, which it may write to; does nothing where the policy names none.

    ``python`` as the command's first word is the project's interpreter; other programs are looked for beside it and in the system's
    folders.

    Raises:
        ProbeError: the command is not there, fails or does not end in time.
    """
    if not policy.prepare:
        return
    folders = os.pathsep.join((str(python.parent), "/usr/local/bin", "/usr/bin", "/bin"))
    first = policy.prepare[0]
    program = str(python) if first in ("python", "python3") else shutil.which(first, path=folders)
    if program is None:
        raise ProbeError(f"there is no program {first}", where="score.prepare", hint="An owner names one that this host has.")
    loosen(root)
    home = Path(tempfile.mkdtemp(dir=scratch))
    environment = {
        "PATH": folders, "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8", "TZ": "UTC", "SOURCE_DATE_EPOCH": str(policy.seed),
        **dict(policy.env),
    }  # fmt: skip
    limits = Limits(memory_b=policy.memory_b, processes=policy.processes, output_b=policy.output_b, scratch_b=policy.scratch_b)
    reach = Reach(read=(root, *interpreter_reach(python)), write=(root,), private=(home,))
    child = wall.start([program, *policy.prepare[1:]], cwd=root, env=environment, reach=reach, limits=limits)
    try:
        status = child.wait(policy.timeout_s)
    finally:
        child.close()
        shutil.rmtree(home, ignore_errors=True)
    if status != 0:
        said = child.output.decode("utf-8", "replace").strip()[-_KEPT:]
        how = "did not end in time" if status is None else f"ended with {status}"
        raise ProbeError(f"the command {' '.join(policy.prepare)} {how}: {said}", where="score.prepare")
