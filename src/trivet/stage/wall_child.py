"""A run behind a wall, seen from the gate: what it may reach, how it is started, waited for and ended.

``launch`` forks a *supervisor* that lives exactly as long as somebody holds the other end of its lifeline (a pipe): the gate closes it, or
dies, and the supervisor ends everything the run started, reaps it, and leaves. Where a pid namespace can be had the supervisor is its
first process, so that the kernel itself ends what is left; elsewhere it is a child subreaper that sweeps its descendants.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from trivet.errors import SandboxError
from trivet.stage import wall_native as native
from trivet.stage.wall_limits import Group, Limits
from trivet.stage.wall_tape import Recipe, Tape

Spaces = Literal["root", "user", "none"]
_PATIENCE_S = 10.0


@dataclass(frozen=True)
class Reach:
    """What a run may reach, absolute paths. ``read``: read and execute. ``write``: read and write; the caller sees what was written.

    ``private``: folders of the run's own that vanish with it, limited by ``scratch_b`` to the byte where a mount namespace can be had
    (their former contents are hidden from the run); elsewhere they are as ``write``.
    """

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    private: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Lender:
    """A server that forks itself for a run, in place of a fresh interpreter (``stage.forkserver``).

    ``fd``: its socket. ``one_cpu``: the run stays on one processor, where a fresh one would be started by another program for that.
    """

    fd: int
    one_cpu: bool = False


@dataclass(frozen=True, kw_only=True)
class Launch:
    """All that the supervisor and the child need, laid out before the fork.

    ``spaces``: "root" (own pid and mount namespace, by privilege), "user" (the same by a user namespace), "none" (subreaper).
    ``mounts`` runs once in the supervisor inside its namespaces; ``settle`` runs in the child, just before exec. What a forked interpreter
    does costs more than in the gate (its pages are copied at first touch), so both do the least they can.
    ``watched``: folders whose size is checked while the run lives. ``processes``: more processes and threads than this end the run.
    """

    argv: list[str]
    env: dict[str, str]
    cwd: Path
    limits: Limits
    processes: int
    spaces: Spaces
    flags: int = 0
    settle: Callable[[], int | None]
    mounts: Callable[[], None] | None = None
    tape: Callable[[Tape | Recipe], None] | None = None
    """As ``settle``, written on a tape; None where the steps cannot be written before they are made."""
    lender: Lender | None = None
    """Who lends the run's process; where it cannot, the tape is played."""
    ruleset: int = -1
    """The Landlock ruleset's descriptor, for a lent process."""
    pass_fds: tuple[int, ...] = ()
    watched: tuple[str, ...] = ()
    group: Group | None = None
    deputy: tuple[str, ...] = ()
    """Folders in which the supervisor changes modes, owners and times for the run; ``settle`` gives back the listener."""
    shell_status: bool = False
    """The started program reports a signal as 128 + its number (bwrap)."""


class Child:
    """A started run.

    ``pid`` is its supervisor's; ``breach`` names the limit it passed ("" = none): memory, processes, output, scratch, stopped.

    Use it as a context manager, or call ``close``: afterwards nothing that the run started lives.
    """

    def __init__(self, pid: int, life: int, status: int, output: int) -> None:
        self.pid = pid
        self.breach = ""
        self.returncode: int | None = None
        self._life, self._status, self._output = life, status, output
        self._heard = b""
        self._last = b""
        self._reaped = False

    def fileno(self) -> int:
        """A descriptor that becomes readable when the run has ended (for selectors); -1 once it is over."""
        return self._status

    @property
    def output(self) -> bytes:
        """Standard output and error so far, merged, at most ``Limits.output_b`` bytes."""
        if self._output < 0:
            return self._last
        return self._read_output()

    def _read_output(self) -> bytes:
        size = os.fstat(self._output).st_size
        return os.pread(self._output, size, 0)

    def poll(self) -> int | None:
        """How the run ended (exit status, or minus the signal), or None while it lives."""
        return self.wait(0)

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait up to ``timeout`` seconds (None: as long as it takes) for the end of the run; None if it still lives.

        A result means that all processes of the run have been killed and reaped; only its supervisor may still be leaving.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.returncode is None:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            poller = select.poll()
            poller.register(self._status, select.POLLIN)
            if not poller.poll(None if left is None else left * 1000):
                return None
            self._hear()
        return self.returncode

    def kill(self) -> None:
        """End everything the run started and wait until nothing of it lives."""
        self._let_go()
        self._reap()
        if self.returncode is None:
            self.wait(_PATIENCE_S)
            if self.returncode is None:
                self.returncode = -signal.SIGKILL

    def close(self) -> None:
        """As ``kill``; then let go of all descriptors. Output and result stay readable."""
        self.kill()
        if self._output >= 0:
            self._last = self._read_output()
            os.close(self._output)
            self._output = -1
        if self._status >= 0:
            os.close(self._status)
            self._status = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def started(self) -> None:
        """Wait for exec; raises SandboxError, with the step that failed, if the wall could not be raised."""
        while b"\n" not in self._heard:
            got = os.read(self._status, 4096)
            if not got:
                break
            self._heard += got
        line, _, self._heard = self._heard.partition(b"\n")
        if line == b"running":
            return
        self.returncode = -signal.SIGKILL
        self.close()
        text = line.decode("utf-8", "replace") or "its supervisor died"
        raise SandboxError(f"the wall could not be raised: {text}", hint="run `trivet doctor` to see what this host can hold")

    def _hear(self) -> None:
        got = os.read(self._status, 4096)
        if got:
            self._heard += got
            if b"\n" not in self._heard:
                return
        line = self._heard.partition(b"\n")[0].decode("ascii", "replace").split()
        if len(line) >= 2 and line[0] == "ended":  # noqa: PLR2004 - word, status, breach
            self.breach = line[2] if len(line) > 2 else ""  # noqa: PLR2004
            self.returncode = int(line[1])
        else:
            self.returncode = -signal.SIGKILL

    def _let_go(self) -> None:
        if self._life >= 0:
            os.close(self._life)
            self._life = -1

    def _reap(self) -> None:
        """Wait for the supervisor, which leaves last; one that does not leave is killed, and its namespace with it."""
        if self._reaped:
            return
        self._reaped = True
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            fd = os.pidfd_open(self.pid)
            try:
                poller = select.poll()
                poller.register(fd, select.POLLIN)
                if not poller.poll(_PATIENCE_S * 1000):
                    os.kill(self.pid, signal.SIGKILL)
            finally:
                os.close(fd)
            os.waitpid(self.pid, 0)
        self._let_go()


@contextlib.contextmanager
def _children_in_new_pid_namespace(wanted: bool) -> Iterator[None]:  # noqa: FBT001 - private
    """Let children forked inside be the first process of a pid namespace; afterwards this thread forks as before."""
    if not wanted:
        yield
        return
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        native.unshare(native.CLONE_NEWPID)
        try:
            yield
        finally:
            native.setns(own, native.CLONE_NEWPID)
    finally:
        os.close(own)


def launch(plan: Launch) -> Child:
    """Start a run. Raises SandboxError if a step of the wall fails; then nothing of it lives."""
    from trivet.stage.wall_supervisor import supervise  # noqa: PLC0415 - the other side of the fork

    life_r, life_w = os.pipe2(os.O_CLOEXEC)
    status_r, status_w = os.pipe2(os.O_CLOEXEC)
    book = os.memfd_create("trivet-output", os.MFD_CLOEXEC)
    try:
        with _children_in_new_pid_namespace(plan.spaces == "root"):
            pid = os.fork()
            if pid == 0:
                supervise(plan, life_r, status_w, book)  # never returns
    except OSError as error:
        for fd in (life_w, status_r, book):
            os.close(fd)
        raise SandboxError(f"the wall could not be raised: {error}", hint="run `trivet doctor` to see what this host can hold") from error
    finally:
        os.close(life_r)
        os.close(status_w)
    child = Child(pid, life_w, status_r, book)
    try:
        child.started()
    except SandboxError:
        if plan.group is not None:
            plan.group.remove()
        raise
    finally:
        if plan.group is not None:
            plan.group.close()
    return child
