"""Starts the subject of split isolation: the source in a process of its own, behind a wall that shows it nothing of the test run.

Its program travels as one script on a descriptor: no file of the probe has to be readable behind its wall, and no name of it stands on its
command line. Its environment is built from nothing: no mark of the runner, of the judge or of a pinned clock.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from trivet.probe import wire
from trivet.stage.wall import Child, Limits, Reach, Wall, interpreter_reach

PROBE = Path(wire.__file__).resolve().parent
PARTS = ("split_channel", "split_codec", "split_reader", "split_export", "split_fakes", "split_clock", "split_mimic", "split_subject")
"""The files of the probe that the subject runs, in the order of their imports."""

_START = """
import sys, types
_p = types.ModuleType("site_main")
_p.__path__ = []
sys.modules["site_main"] = _p
for _n, _s in {parts!r}:
    _m = types.ModuleType("site_main." + _n)
    _m.__package__ = "site_main"
    sys.modules["site_main." + _n] = _m
    exec(compile(_s, "<string>", "exec"), _m.__dict__)
    setattr(_p, _n, _m)
_p.split_subject.main({fd}, {tree!r}, {scratch!r}, {paths!r})
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A started subject. ``fd``: the judge's end of the channel, to be passed on to the probe. ``facts``: for ``Job.extra["split"]``."""

    child: Child
    fd: int
    facts: dict[str, str]


def script(fd: int, tree: Path, scratch: Path, paths: Iterable[str]) -> bytes:
    """The subject's program.

    Args:
        fd: the subject's end of the channel.
        tree: the source-only tree as the subject sees it (absolute).
        scratch: its private folder (absolute).
        paths: import paths (absolute, below ``tree``).
    """
    parts = [(name, (PROBE / f"{name}.py").read_text("utf-8")) for name in PARTS]
    return _START.format(parts=parts, fd=fd, tree=str(tree), scratch=str(scratch), paths=list(paths)).encode()


def environment(python: Path, scratch: Path, hash_seed: str = "random") -> dict[str, str]:
    """The subject's environment: that of any program on a server."""
    return {
        "PATH": os.pathsep.join((str(python.parent), "/usr/local/bin", "/usr/bin", "/bin")),
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": hash_seed,
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@contextlib.contextmanager
def start_subject(
    wall: Wall, *, python: Path, root: Path, tree: Path, scratch: Path, paths: Iterable[str], limits: Limits, hash_seed: str = "random"
) -> Iterator[Subject]:
    """Start the subject and end all that it started on leaving.

    Args:
        wall: what holds it in.
        python: the project's interpreter (absolute).
        root: the scoring tree, as the import paths are written for it; never shown to the subject.
        tree: the source-only tree (see ``lay_visible``).
        scratch: an existing, empty folder of its own.
        paths: absolute import paths below ``root``.
        limits: its limits.
        hash_seed: PYTHONHASHSEED.

    Raises:
        SandboxError: a step of the wall fails.
        OSError: the interpreter cannot be started.
    """
    ours, theirs = socket.socketpair()
    program = os.memfd_create("site", 0)
    moved = [str(tree / os.path.relpath(path, root)) if path != str(root) else str(tree) for path in paths]
    try:
        os.write(program, script(theirs.fileno(), tree, scratch, moved))
        os.lseek(program, 0, os.SEEK_SET)
        child = wall.start(
            [str(python), "-s", "-c", f"exec(open({program}).read())"],
            cwd=scratch,
            env=environment(python, scratch, hash_seed),
            reach=Reach(read=(tree, *interpreter_reach(python)), write=(scratch,)),
            limits=limits,
            pass_fds=(program, theirs.fileno()),
        )
    except BaseException:
        ours.close()
        raise
    finally:
        os.close(program)
        theirs.close()
    try:
        yield Subject(child=child, fd=ours.fileno(), facts={"tree": str(tree), "scratch": str(scratch), "shared": ""})
    finally:
        ours.close()
        child.close()


HIDDEN_PARTS = frozenset({"tests", "test", "fixtures", "ci", "tools", "benchmarks", "docs"})


def is_visible(path: str, zone: str) -> bool:
    """Whether the subject sees a file: all of the source zone, and what any installed copy could hold; nothing of the oracles or of CI."""
    parts = path.split("/")
    if zone == "source":
        return True
    if zone not in ("inert", "control") or any(part.startswith(".") or part in HIDDEN_PARTS for part in parts):
        return False
    return parts[-1] not in ("conftest.py", "trivet.toml", "tox.ini", "pytest.ini", "noxfile.py", "CODEOWNERS")


def lay_visible(root: Path, paths: Iterable[str], tree: Path) -> None:
    """Copy the visible files of a laid tree to ``tree`` (which must not exist); links are copied as links."""
    tree.mkdir(parents=True)
    made = {tree}
    for path in paths:
        target = tree / path
        if target.parent not in made:
            target.parent.mkdir(parents=True, exist_ok=True)
            made.add(target.parent)
        shutil.copy2(root / path, target, follow_symlinks=False)
