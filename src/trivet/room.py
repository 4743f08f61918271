"""A temporary folder that does not outlive the gate, however the gate ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import NoReturn

_PATIENCE_S = 8.0


class Room:
    """A temporary folder that is removed with its block, and also if this process is killed in it. A context manager.

    A small forked process holds the read end of a pipe; when the other end closes, by whatever death, it removes the folder.

    Args:
        prefix: how its name begins.
        place: where to make it; None: the system's temporary folder.
    """

    def __init__(self, prefix: str, place: Path | None = None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        self._life = -1
        if not hasattr(os, "fork"):  # no watcher there: the folder is removed with the block only
            return
        reader, self._life = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _remove_when_left(self.path, reader)
        os.close(reader)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder and wait until it is gone."""
        if self._life >= 0:
            os.close(self._life)
            self._life = -1
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
        remove(self.path)


def _remove_when_left(path: Path, life: int) -> NoReturn:
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.chdir("/")
        os.closerange(0, life)
        os.closerange(life + 1, 65536)
        os.read(life, 1)
        deadline = time.monotonic() + _PATIENCE_S
        while path.exists() and time.monotonic() < deadline:
            remove(path)
            if path.exists():
                time.sleep(0.01)  # a run that is just being ended may still write
    finally:
        os._exit(0)


def remove(path: Path) -> None:
    """Remove a folder and all below it, read-only folders included; what cannot be removed stays."""
    for folder, _, _ in os.walk(path):
        with contextlib.suppress(OSError):
            os.chmod(folder, 0o700)  # noqa: PTH101 - walk gives text, and no link
    shutil.rmtree(path, ignore_errors=True)
