"""One scoring: run ``trivet gate`` as a child, follow what it says, give its files back. There is no other road to a verdict."""

from __future__ import annotations

import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from trivet.errors import TrivetError
from trivet.service.asking import REVIEW
from trivet.service.logs import without_secrets
from trivet.service.settings import Repository, WorkerTable

FILES = (
    "src_score.txt", "oracle_integrity.txt", "flake_lease.txt", "src_score.json", "oracle_integrity.json", "flake_lease.json",
    "decision.json", "summary.md", "junit.xml",
)  # fmt: skip
"""What is kept of a run; nothing else that lies in its folder is looked at."""
_HEAR_S = 0.2
_WANTED_S = 1.0
_GRACE_S = 15.0
_LINES = 400
_LINE_B = 500
_FILE_B = 64 * 1024 * 1024


class StoppedError(TrivetError):
    """The run was ended because nobody wants its result any more."""


class RunError(TrivetError):
    """The command ended without a decision: killed, out of time, or out of memory. It may be tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What one run gave: its exit status and its files."""

    status: int
    files: dict[str, bytes]


@dataclass(kw_only=True)
class Worker:
    """Runs the command. Keep one for a process: it knows its children and can end them all.

    Args:
        settings: ``[worker]``; its ``command`` stands for ``trivet`` where the operator says so.
        data: the service's folder; children get their home, cache and temporary folder below it.
    """

    settings: WorkerTable
    data: Path
    _children: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _left: threading.Event = field(default_factory=threading.Event)

    def judge(
        self,
        repo: Repository,
        mirror: Path,
        *,
        base: str,
        head: str,
        review: bytes | None,
        say: Callable[[str], None],
        wanted: Callable[[], bool],
    ) -> Judged:
        """Judge one head.

        Args:
            repo: the settings of the repository.
            mirror: the bare repository that holds both commits.
            base: full id of the trusted commit.
            head: full id of the commit to judge.
            review: evidence of authorship for ``--review``, as a forge gave it.
            say: takes each line that the command writes while it works.
            wanted: whether the result is still wanted; asked about once a second.

        Raises:
            StoppedError: it was not wanted any more.
            RunError: it ended without a decision.
        """
        tmp = self._folder("tmp")
        room = Path(tempfile.mkdtemp(prefix="score-", dir=tmp))
        try:
            out = room / "out"
            words = [
                *self._command(),
                "gate",
                "--repo",
                str(mirror),
                "--base",
                base,
                "--head",
                head,
                "--out",
                str(out),
                "--repository",
                repo.url,
                *_options(repo),
            ]
            if review is not None:
                (room / REVIEW).write_bytes(review)
                words += ["--review", str(room / REVIEW)]
            status, last = self._run(words, room, say, wanted)
            files = {name: content for name in FILES if (content := _content(out / name)) is not None}
            if "decision.json" not in files:
                raise RunError(f"the command ended with {status} and no decision: {last}" if last else f"the command ended with {status}")
            return Judged(status=status, files=files)
        finally:
            _remove(room)

    def _command(self) -> Sequence[str]:
        # A worker that is killed takes its command with it: the thread that starts it waits for it, and lives exactly as long.
        launcher = shutil.which("setpriv")
        with_us = (launcher, "--pdeathsig", "TERM", "--") if launcher else ()
        return (*with_us, *(self.settings.command or (sys.executable, "-P", "-m", "trivet")))

    def _folder(self, name: str) -> Path:
        path = self.data / name
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path

    def _environment(self, room: Path) -> dict[str, str]:
        """What a child is told: no variable of the service's own environment, which may hold what it must not see."""
        env = {
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin")),
            "HOME": str(self._folder("home")),
            "XDG_CACHE_HOME": str(self._folder("cache")),
            "TMPDIR": str(room),
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": "1",
        }
        if not self.settings.command:
            import trivet  # noqa: PLC0415 - the child runs this very installation, wherever it lies

            env["PYTHONPATH"] = str(Path(trivet.__file__).parent.parent)
        return env

    def _run(self, words: Sequence[str], room: Path, say: Callable[[str], None], wanted: Callable[[], bool]) -> tuple[int, str]:
        with (room / "said").open("w+b") as said, (room / "said").open("rb") as hearing:
            child = subprocess.Popen(
                words,
                cwd=room,
                env=self._environment(room),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
            with suppress(ProcessLookupError):
                resource.prlimit(child.pid, resource.RLIMIT_AS, (self.settings.memory_b, self.settings.memory_b))
                resource.prlimit(child.pid, resource.RLIMIT_CORE, (0, 0))
            with self._lock:
                self._children[child.pid] = child
            try:
                told = _Lines(hearing, say)
                self._wait(child, told, wanted)
                told.hear()
                return child.returncode, told.last
            finally:
                _end(child)
                with self._lock:
                    self._children.pop(child.pid, None)

    def _wait(self, child: subprocess.Popen[bytes], told: _Lines, wanted: Callable[[], bool]) -> None:
        handle = os.pidfd_open(child.pid)
        began = asked = time.monotonic()
        try:
            # The descriptor tells of the end without reaping the child: until that, nobody else can get its number.
            while not select.select([handle], [], [], _HEAR_S)[0]:
                told.hear()
                now = time.monotonic()
                if now - asked >= _WANTED_S:
                    asked = now
                    if not wanted():
                        _end(child)
                        self._stay_if_left()
                        raise StoppedError("the score is not wanted any more")
                if now - began > self.settings.timeout_s:
                    _end(child)
                    self._stay_if_left()
                    raise RunError(f"the command took more than {self.settings.timeout_s:.0f} s", hint="raise worker.timeout_s")
        finally:
            os.close(handle)
        _end(child)
        self._stay_if_left()

    def _stay_if_left(self) -> None:
        """When the process is being left, a run that was ended says nothing: its job must not record an answer, but be taken up again."""
        if self._left.is_set():
            threading.Event().wait()

    def leave(self) -> None:
        """End all children for good: the process is about to exit, and their jobs are to be resumed by another one."""
        self._left.set()
        with self._lock:
            children = list(self._children.values())
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGTERM)  # its own thread waits for it and sees to the rest
        until = time.monotonic() + _GRACE_S + 1
        while time.monotonic() < until and any(child.returncode is None for child in children):
            time.sleep(_WANTED_S / 20)


def _options(repo: Repository) -> list[str]:
    words: list[str] = []
    for name in ("python", "isolation", "controls", "wall", "reruns"):
        value = getattr(repo, name)
        if value is not None:
            words += [f"--{name}", str(value)]
    return [*words, *(["--vary"] if repo.vary else []), *([] if repo.advisory else ["--no-advisory"])]


class _Lines:
    """Hands on whole lines as they come, without what looks like a secret, and not without end."""

    def __init__(self, stream: IO[bytes], say: Callable[[str], None]) -> None:
        self._stream = stream
        self._say = say
        self._rest = b""
        self._left = _LINES
        self.last = ""

    def hear(self) -> None:
        data = self._rest + self._stream.read(1 << 20)
        *lines, self._rest = data.split(b"\n")
        self._rest = self._rest[-_LINE_B:]
        for line in lines:
            text = without_secrets("".join(c for c in line[:_LINE_B].decode("utf-8", "replace") if c.isprintable())).rstrip()
            if not text:
                continue
            self.last = text
            if self._left > 0:
                self._left -= 1
                self._say(text)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a child and its session: first so that it can clean up, then for good. A child that has been reaped is left alone."""
    if child.returncode is not None:
        return
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(child.pid)
        try:
            signal.pidfd_send_signal(handle, signal.SIGTERM)
            select.select([handle], [], [], _GRACE_S)
        finally:
            os.close(handle)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)  # not reaped yet: the number is still its own
    child.wait()


def _content(path: Path) -> bytes | None:
    """A regular file of bearable size; a link is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(_FILE_B + 1)
    return content if len(content) <= _FILE_B else None


def _remove(room: Path) -> None:
    for folder, _, _ in os.walk(room):
        with suppress(OSError):
            os.chmod(folder, 0o700)  # noqa: PTH101 - walk gives text, and no link
    shutil.rmtree(room, ignore_errors=True)
