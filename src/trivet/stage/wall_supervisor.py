"""The supervisor of a run: forked from the gate, it lives until the run ends or the gate lets go, and takes everything with it.

Nothing here returns into the gate's code: both sides of every fork end with ``os._exit`` or exec. The run cannot reach the supervisor:
it has another uid or Landlock's signal scope against it, and no descriptor of it.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import os
import select
import signal
import socket
import time
from typing import NoReturn

from trivet.stage import wall_native as native
from trivet.stage.wall_borrow import borrow, ended
from trivet.stage.wall_child import Launch
from trivet.stage.wall_limits import prefer_to_be_killed, tree_usage
from trivet.stage.wall_notify import Deputy
from trivet.stage.wall_sweep import count_tasks, descendants, is_stopped, kill_all, uses_more_memory
from trivet.stage.wall_tape import SET_MASK, Tape

_TICK_S = 0.1
_STOPPED_S = 2.0
_PATIENCE_S = 8.0
_SHARE = 20  # looking takes at most a twentieth of the time
_CHUNK = 65536
_SHELL_SIGNAL = 128
_IGNORED_HERE = tuple(int(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ))


def supervise(plan: Launch, life: int, status: int, book: int) -> NoReturn:
    """Be the supervisor; never returns.

    ``life``: ends when the gate does; ``status``: lines for the gate; ``book``: the output's memory file.
    """
    try:
        gc.disable()
        os.setsid()
        native.ignore_signals(_IGNORED_HERE, ignore=True)
        if plan.spaces == "user":
            _hide_command_line()  # in the other forms the run has another uid or no /proc
            _enter_user_namespace(plan)
        elif plan.spaces == "none":
            native.prctl(native.PR_SET_CHILD_SUBREAPER, 1)
        _Supervisor(plan, life, status, book).run()
    except BaseException as error:  # noqa: BLE001 - whatever happens, do not return into the gate's code
        _say(status, f"supervisor: {error}".replace("\n", " "))
    finally:
        os._exit(0)


def _enter_user_namespace(plan: Launch) -> None:
    """Become the first process of new user, pid and mount namespaces; the process in between only waits."""
    uid, gid = os.getuid(), os.getgid()
    native.prctl(native.PR_SET_DUMPABLE, 1)  # else the maps belong to root (a gate that changed its uid without exec)
    native.unshare(native.CLONE_NEWUSER | native.CLONE_NEWPID | plan.flags)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        fd = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)
    pid = os.fork()
    if pid:
        native.close_all_but(())
        os.waitpid(pid, 0)
        os._exit(0)
    native.prctl(native.PR_SET_PDEATHSIG, signal.SIGKILL)


def _hide_command_line() -> None:
    """Overwrite this process's copy of the gate's command line, which the run could otherwise read in /proc."""
    with open("/proc/self/stat", "rb") as file:  # noqa: PTH123 - no pathlib between fork and exec
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[45]), int(fields[46])  # arg_start, arg_end: fields 48 and 49, of which three precede the split
    if 0 < start < end:
        title = b"trivet: supervisor of a run"[: end - start - 1]
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, title, len(title))


def _say(status: int, line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(status, line.encode("utf-8", "replace") + b"\n")


class _Supervisor:
    def __init__(self, plan: Launch, life: int, status: int, book: int) -> None:
        self.plan, self.life, self.status, self.book = plan, life, status, book
        self.written = 0
        self.breach = ""
        self.main = -1
        self.result: int | None = None
        self.stopped_since: float | None = None
        self.next_walk = 0.0
        self.deputy: Deputy | None = None
        self.ending = -1
        """Where the lender of the run's process tells how it ended; -1 for a child of our own."""

    def run(self) -> None:
        """Raise the mounts, start the run, watch it, end it."""
        plan = self.plan
        if plan.spaces == "root" and plan.flags:
            native.unshare(plan.flags)
        self.out, out_w = os.pipe2(os.O_CLOEXEC)
        error_r, error_w = os.pipe2(os.O_CLOEXEC)
        os.umask(0o022)
        if plan.mounts is not None:
            plan.mounts()
        ours, theirs = socket.socketpair() if plan.deputy else (None, None)
        null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        os.chdir(plan.cwd)  # with the mounts, so that it is the folder the run will see
        if plan.tape is not None:
            os.close(error_w)
            try:
                self.obtain(null, out_w)
            except OSError as trouble:
                self.fail(str(trouble))
                return
        else:
            self.main = native.fork_quickly()
            if self.main == 0:
                _become_the_run(plan, null, out_w, error_w, theirs)
        group = () if plan.group is None else (plan.group.parent, plan.group.folder)
        if ours is not None and theirs is not None:
            theirs.close()
            listener = socket.recv_fds(ours, 1, 1)[1]  # nothing comes if the child failed before
            self.deputy = Deputy(listener[0], plan.deputy) if listener else None
        listening = () if self.deputy is None else (self.deputy.fd,)
        native.close_all_but((self.life, self.status, self.book, self.out, error_r, self.ending, *group, *listening))
        said = os.read(error_r, 4096)
        os.close(error_r)
        if said:
            self.fail(said.decode("utf-8", "replace"))
            return
        _say(self.status, "running")
        self.watch()
        self.end()
        code = -signal.SIGKILL if self.result is None else self.result
        if plan.shell_status and code > _SHELL_SIGNAL:
            code = _SHELL_SIGNAL - code
        if plan.group is not None:
            self.breach = self.breach or plan.group.breach()
            plan.group.remove()
        _say(self.status, f"ended {code} {self.breach}")

    def obtain(self, null: int, output: int) -> None:
        """Get the run's process: a copy of the lender, else from the tape. Raises OSError with the step that failed."""
        lent = None if self.plan.lender is None else borrow(self.plan, null, output)
        if lent is None:
            self.main = _play(self.plan, null, output)
        else:
            self.main, self.ending = lent.pid, lent.fd
        prefer_to_be_killed(self.main)

    def fail(self, trouble: str) -> None:
        """Say which step failed; nothing of the run is left."""
        self.end()
        if self.plan.group is not None:
            self.plan.group.remove()
        _say(self.status, trouble.replace("\n", " "))

    def watch(self) -> None:
        """Until the run ends, passes a limit, or the gate lets go: collect output, reap orphans, check what rlimits do not bind."""
        os.set_blocking(self.out, False)
        fd = os.pidfd_open(self.main)
        poller = select.poll()
        poller.register(self.life, 0)
        poller.register(fd, select.POLLIN)
        poller.register(self.out, select.POLLIN)
        if self.deputy is not None:
            poller.register(self.deputy.fd, select.POLLIN)
        open_output = True
        next_tick = time.monotonic() + _TICK_S
        while not self.breach:
            ready = dict(poller.poll(max(0.0, next_tick - time.monotonic()) * 1000))
            if self.life in ready or fd in ready:
                break
            if self.deputy is not None and ready.get(self.deputy.fd, 0) & select.POLLIN:
                self.deputy.serve()
            if self.out in ready and open_output and not self.collect():
                poller.unregister(self.out)
                open_output = False
            if time.monotonic() >= next_tick:
                self.reap()
                self.check()
                next_tick = time.monotonic() + _TICK_S
        os.close(fd)

    def collect(self) -> bool:
        """Move output to the book; False at its end."""
        while True:
            try:
                got = os.read(self.out, _CHUNK)
            except BlockingIOError:
                return True
            if not got:
                return False
            room = self.plan.limits.output_b - self.written
            os.write(self.book, got[:room])
            self.written += min(len(got), room)
            if len(got) > room:
                self.breach = self.breach or "output"
                return False

    def reap(self) -> None:
        """Take the status of everything that has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.main:
                self.result = os.waitstatus_to_exitcode(status)

    def check(self) -> None:
        """Look for what the kernel does not end by itself: scratch and memory in sum, too many processes, a stopped run."""
        now = time.monotonic()
        plan = self.plan
        if is_stopped(self.main, below=2 if plan.shell_status else 0):
            self.stopped_since = self.stopped_since or now
            if now - self.stopped_since > _STOPPED_S:
                self.breach = "stopped"
        else:
            self.stopped_since = None
        if plan.group is not None:
            self.breach = self.breach or plan.group.breach()
        if now < self.next_walk:
            return
        if plan.watched and tree_usage(plan.watched, most=plan.limits.scratch_b) > plan.limits.scratch_b:
            self.breach = "scratch"
        living = descendants(all_here=self.ending >= 0)
        if count_tasks(living) > plan.processes:
            self.breach = "processes"
        elif plan.group is None and uses_more_memory(living, plan.limits.memory_b):
            self.breach = "memory"
        self.next_walk = now + _SHARE * (time.monotonic() - now)

    def end(self) -> None:
        """End everything the run started, reap it, and take the last of its output."""
        self.reap()
        kill_all(self.reap, namespace=self.plan.spaces != "none")
        if self.ending >= 0:
            self.result = ended(self.ending, _PATIENCE_S)
        os.set_blocking(self.out, False)
        self.collect()


def _play(plan: Launch, null: int, output: int) -> int:
    """Start the run from a tape; the same steps as ``_become_the_run``. Raises OSError with the step that failed."""
    tape = Tape()
    tape.add("setsid")
    for wanted, fd in ((0, null), (1, output), (2, output)):
        tape.add("dup2", fd, wanted)
    tape.add("close_range", 3, 0x7FFFFFFF, 4)
    for fd in plan.pass_fds:
        tape.add("fcntl", fd, fcntl.F_SETFD, 0)
    for number in _IGNORED_HERE:
        tape.add("rt_sigaction", number, bytes(32), 0, 8)
    door = -1
    if plan.group is not None:
        door = plan.group.door()
        tape.add("write", door, b"0", 1)
    if plan.tape is not None:
        plan.tape(tape)
    tape.add("rt_sigprocmask", SET_MASK, bytes(8), 0, 8)
    tape.execute(plan.argv, plan.env)
    try:
        return tape.play()
    finally:
        if door >= 0:
            os.close(door)


def _become_the_run(plan: Launch, null: int, output: int, error: int, deputy: socket.socket | None) -> NoReturn:
    step = "descriptors"
    try:
        os.setsid()
        os.dup2(null, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        native.close_on_exec_from(3)
        for fd in plan.pass_fds:
            os.set_inheritable(fd, True)  # noqa: FBT003 - its only form
        native.ignore_signals(_IGNORED_HERE, ignore=False)  # exec itself resets the gate's handlers
        native.unblock_signals()
        step = "cgroup"
        if plan.group is not None:
            plan.group.join()
        step = "wall"
        listener = plan.settle()
        if deputy is not None and listener is not None:
            socket.send_fds(deputy, [b"+"], [listener])
        step = "exec"
        os.execve(plan.argv[0], plan.argv, plan.env)  # noqa: S606
    except BaseException as trouble:  # noqa: BLE001 - whatever happens, do not return into the gate's code
        os.write(error, f"{step}: {trouble}".encode("utf-8", "replace"))
    finally:
        os._exit(127)
