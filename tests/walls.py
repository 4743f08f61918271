"""The walls under test: each form of each back end, as root and as an ordinary user that the tests make up."""

from __future__ import annotations

import functools
import json
import os
import stat
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from trivet.stage import wall_native as native
from trivet.stage import wall_supervisor  # noqa: F401 - loaded before a test gives up its rights to read the source
from trivet.stage.wall import Wall
from trivet.stage.wall_bubblewrap import INSTALL, BubblewrapWall
from trivet.stage.wall_kernel import KernelWall

ROOT = os.geteuid() == 0
USER = 31_337
"""An ordinary user that exists nowhere: no home, no group, no process."""

FORMS = ("kernel-root", "kernel-root-bare", "kernel-user", "kernel-user-bare", "bubblewrap-root", "bubblewrap-user")
_SEARCHED = "/usr/local/bin:/usr/bin:/bin"


def make(form: str, *, without: frozenset[str] = frozenset(), network: str = "none") -> Wall:
    """The wall of that name, for the user that this process is now."""
    if form.startswith("bubblewrap"):
        return BubblewrapWall(without=without, network=network)
    return KernelWall(spaces="none" if form.endswith("bare") else None, without=without, network=network)


@functools.cache
def python_for_all() -> Path | None:
    """An interpreter that every user may run: this one, or the system's."""
    for path in (Path(sys.executable), Path("/usr/local/bin/python3"), Path("/usr/bin/python3")):
        real = path.resolve()
        if real.is_file() and all(parent.stat().st_mode & stat.S_IXOTH for parent in (path.parent, *path.parent.parents, *real.parents)):
            return path
    return None


def require(form: str) -> None:
    """Skip, by name and with what to do, a form that this host cannot have."""
    if "-root" in form and not ROOT:
        pytest.skip("needs root: run the suite once as root as well (sudo)")
    if form.startswith("bubblewrap") and not any(Path(folder, "bwrap").exists() for folder in _SEARCHED.split(":")):
        pytest.skip(INSTALL)
    if "-user" in form and ROOT and python_for_all() is None:
        pytest.skip("no interpreter that an ordinary user may run: install python3")


def interpreter(form: str) -> Path:
    """The interpreter of the attempts: one that the user of this form may run."""
    return (python_for_all() if "-user" in form and ROOT else None) or Path(sys.executable)


python_for_all()  # while it can be looked for


def as_user_of(form: str, work: Callable[[], object]) -> object:
    """Do ``work`` as the user of ``form`` and give back its JSON-able result; for another user in a forked process."""
    if "-user" not in form or not ROOT:
        return work()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            os.setgroups([])
            os.setgid(USER)
            os.setuid(USER)
            native.prctl(native.PR_SET_DUMPABLE, 1)
            answer = {"result": work()}
        except BaseException:  # noqa: BLE001 - told to the test, not to pytest's other half
            answer = {"error": traceback.format_exc()}
        with os.fdopen(writer, "w") as file:
            json.dump(answer, file)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    os.waitpid(pid, 0)
    answer = json.loads(text) if text else {"error": "the process of the other user died"}
    if "error" in answer:
        raise AssertionError(answer["error"])
    return answer["result"]
