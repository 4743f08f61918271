"""A run without any capability although what it needs lies below a folder that is closed to others (``/root``, a home folder).

In the mount namespace of the run such a folder is covered by an empty one that shows nothing but the needed paths. Then permission bits
mean to the run what they mean to any user: honest tests of refused access hold.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from trivet.stage import wall_native as native
from trivet.stage.wall_reach import SYSTEM

_OTHERS_PASS = 0o001
_OTHERS_READ = 0o004
_MOST = 60_000
_LOOKING = threading.Lock()


def closed_folders(paths: Iterable[Path]) -> dict[Path, list[Path]]:
    """The topmost folders above the paths that others may not pass through, each with the topmost paths that are needed below it."""
    found: dict[Path, list[Path]] = {}
    for path in dict.fromkeys(paths):
        closed = next((parent for parent in reversed(path.parents) if _exists(parent) and not parent.stat().st_mode & _OTHERS_PASS), None)
        if closed is not None:
            found.setdefault(closed, []).append(path)
    return {closed: [path for path in needed if not any(parent in needed for parent in path.parents)] for closed, needed in found.items()}


Covers = tuple[tuple[str, tuple[str, ...]], ...]


@functools.lru_cache(maxsize=32)
def covers(paths: tuple[Path, ...]) -> Covers:
    """What ``expose`` is to do for these paths, found out once, in the gate: (closed folder, needed paths below it)."""
    return tuple((str(closed), tuple(map(str, needed))) for closed, needed in closed_folders(paths).items())


def expose(wanted: Covers) -> None:
    """Cover closed folders so that only the needed paths are seen in them; runs in the supervisor, in a mount namespace of its own.

    Raises:
        OSError: a mount was refused.
    """
    for closed, needed in wanted:
        held = []
        for path in needed:
            with contextlib.suppress(FileNotFoundError):
                held.append((path, os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)))
        native.mount("tmpfs", closed, "tmpfs", native.MS_NOSUID | native.MS_NODEV, "size=1m,nr_inodes=4k,mode=0755")
        for path, fd in held:
            _show(path, fd)
            os.close(fd)


def _show(path: str, fd: int) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120 - no pathlib between fork and exec
    mode = os.fstat(fd).st_mode
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink("", dir_fd=fd), path)  # noqa: PTH211
        return
    if stat.S_ISDIR(mode):
        os.mkdir(path)  # noqa: PTH102
    else:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    native.mount(f"/proc/self/fd/{fd}", path, None, native.MS_BIND | native.MS_REC)


@functools.lru_cache(maxsize=8)
def installations_open(paths: tuple[Path, ...]) -> bool:
    """Whether others may read the installations and environments among the paths that are not the system's."""
    own = [path for path in paths if str(path) not in SYSTEM and ((path / "pyvenv.cfg").exists() or any(path.glob("lib/python3*")))]
    return all(map(open_to_others, own))


def open_to_others(path: Path) -> bool:
    """Whether others may read all that lies below a path, as far as this can be found out quickly; once for the life of this process.

    Compiled files are passed over: they come from what is read here, and an interpreter that may not read one compiles anew.
    """
    with _LOOKING:  # several runs start at once, and one look is enough
        return _open_to_others(path)


@functools.lru_cache(maxsize=32)
def _open_to_others(path: Path) -> bool:
    for count, mode in enumerate(_modes(path)):
        if count > _MOST or not mode & _OTHERS_READ or (stat.S_ISDIR(mode) and not mode & _OTHERS_PASS):
            return False
    return True


def _modes(path: Path) -> Iterator[int]:
    yield path.stat().st_mode
    folders = [str(path)]
    while folders:
        with os.scandir(folders.pop()) as rows:
            for row in rows:
                if row.is_symlink() or row.name == "__pycache__":
                    continue
                mode = row.stat(follow_symlinks=False).st_mode
                yield mode
                if stat.S_ISDIR(mode) and mode & _OTHERS_PASS:
                    folders.append(row.path)


def _exists(path: Path) -> bool:
    return path.is_dir()
