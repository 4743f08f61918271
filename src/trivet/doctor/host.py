"""What this host can and cannot hold: the escape attempts and bombs against each wall, and what else a run needs."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from trivet.doctor.words import Check, Diagnosis, State
from trivet.errors import SandboxError
from trivet.stage import wall_landlock
from trivet.stage.wall import Wall, choose, faketime_preload
from trivet.stage.wall_bombs import BOMBS, explode
from trivet.stage.wall_limits import group_version
from trivet.stage.wall_probes import attempt_names, escapes, ground

BackEnd = Literal["kernel", "bubblewrap"]
BACK_ENDS: tuple[BackEnd, BackEnd] = ("kernel", "bubblewrap")
_GIT_NEEDED = (2, 38)

REMEDIES = {
    "many-files": "run as root or allow user namespaces, so that the scratch folder can be a bounded tmpfs",
}
_REMEDY = "this should be held: please report it with the output of `trivet doctor --json`"


def diagnose(*, back_ends: Iterable[BackEnd] = BACK_ENDS, bombs: bool = True, more: tuple[Check, ...] = ()) -> Diagnosis:
    """Try every wall of ``back_ends`` on this host.

    Args:
        back_ends: which walls to try.
        bombs: whether to try the slower programs that exhaust limits too (about ten seconds a wall).
        more: checks of other rooms (the repository's) to report with these.
    """
    checks = [*_host()]
    for name in back_ends:
        checks += _try(name, bombs=bombs)
    try:
        wall = choose("auto")
    except SandboxError as error:
        return Diagnosis(checks=(*checks, *more), auto="", hint=f"{error.message}: {error.hint}")
    return Diagnosis(checks=(*checks, *more), auto=wall.facts.name, lacks=wall.facts.lacks)


def _try(name: BackEnd, *, bombs: bool) -> list[Check]:
    wanted = BOMBS if bombs else ()
    try:
        wall = choose(name)
    except SandboxError as error:
        names = (*attempt_names(), *(bomb.name for bomb in wanted))
        return [Check(group=name, name=attempt, state="unavailable", detail=error.message, remedy=error.hint) for attempt in names]
    with ground() as laid:
        rows = escapes(wall, laid)
        rows += [explode(wall, laid, bomb) for bomb in wanted]
    return [
        Check(
            group=name,
            name=row.name,
            state="held" if row.state == "held" else "open",
            detail=row.detail,
            remedy="" if row.state == "held" else _remedy(row.name, wall),
        )
        for row in rows
    ]


def _remedy(name: str, wall: Wall) -> str:
    known = REMEDIES.get(name) or REMEDIES.get(name.partition("-")[0])
    return known if known and wall.facts.lacks else _REMEDY


def _host() -> Iterable[Check]:
    version = wall_landlock.abi()
    newest = wall_landlock.NEEDED_ABI
    state: State = "held" if version >= newest else "unavailable"
    yield Check(
        group="host",
        name="landlock",
        state=state,
        detail=f"ABI {version} on {platform.system()} {platform.release()}",
        remedy="" if state == "held" else "use Linux 6.12 or later with `landlock` in the lsm= list",
    )
    group = group_version()
    yield Check(
        group="host",
        name="memory cgroup",
        state="held" if group else "unavailable",
        detail=f"version {group}: the memory of a whole run is bounded" if group else "memory of a run is counted by the supervisor",
        remedy="" if group else "run as root, or delegate a memory cgroup (systemd-run --user --scope -p Delegate=yes)",
    )
    library = faketime_preload()
    yield Check(
        group="host",
        name="clock of child processes",
        state="held" if library else "unavailable",
        detail=f"{library}: frozen for child processes and C code too; monotonic clocks tick"
        if library
        else "frozen inside the test process only (time-machine); child processes, SQLite and C code see the real clock",
        remedy="" if library else "install libfaketime",
    )
    yield _tool("git", lambda text: tuple(int(part) for part in text.split()[2].split(".")[:2]) >= _GIT_NEEDED, "git 2.38 or later")
    yield Check(group="host", name="python", state="held", detail=f"{sys.version.split()[0]} at {sys.executable}")


def _tool(name: str, good: Callable[[str], bool], needed: str) -> Check:
    path = shutil.which(name)
    if path is None:
        return Check(group="host", name=name, state="open", detail="not found", remedy=f"install {needed}")
    text = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, cwd=Path("/")).stdout.strip()
    try:
        fine = good(text)
    except (ValueError, IndexError):
        fine = False
    return Check(group="host", name=name, state="held" if fine else "open", detail=text, remedy="" if fine else f"install {needed}")
