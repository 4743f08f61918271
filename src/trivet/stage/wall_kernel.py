"""The kernel wall: Landlock, seccomp, rlimits, no privileges; namespaces on top where they can be had.

It needs no privilege. Three forms, from strongest to weakest, found by trying: *root* (own pid and mount namespace, an unused uid), *user*
(the same namespaces through a user namespace), *bare* (Landlock and seccomp alone, a subreaper that sweeps). What a form lacks is said.
"""

from __future__ import annotations

import functools
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from trivet.errors import SandboxError
from trivet.model import WallFacts
from trivet.stage import wall_landlock as landlock
from trivet.stage import wall_native as native
from trivet.stage import wall_notify as notify
from trivet.stage import wall_seccomp as seccomp
from trivet.stage.wall_child import Child, Launch, Lender, Reach, Spaces, launch
from trivet.stage.wall_expose import covers, expose, installations_open
from trivet.stage.wall_limits import (
    Limits,
    drop_to,
    give,
    group_version,
    make_group,
    prefer_to_be_killed,
    rlimits,
    set_rlimits,
    spare_uid,
    tasks_of,
)
from trivet.stage.wall_loopback import raise_loopback
from trivet.stage.wall_reach import SYSTEM
from trivet.stage.wall_tape import Recipe, Tape, available

_WRITE_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_PROC_FILES = (
    *("cpuinfo", "meminfo", "stat", "version", "loadavg", "uptime", "filesystems"),
    *("sys/kernel/osrelease", "sys/kernel/pid_max", "sys/vm/overcommit_memory"),
)
_SHM_B = 64 << 20
ALLOW_SPACES = "allow user namespaces (sysctl -w kernel.apparmor_restrict_unprivileged_userns=0)"


@dataclass(frozen=True)
class Form:
    """Which form of the wall this host allows."""

    spaces: Spaces
    root: bool
    abi: int
    private_proc: bool


class KernelWall:
    """Landlock + seccomp + rlimits on this host; raises SandboxError where it cannot be had.

    Args:
        network: "none", or "loopback" (own loopback in a network namespace).
        spaces: force a weaker form than the strongest that works (tests); None: find it.
        without: names of seccomp rules left out (planted holes, tests only).
    """

    def __init__(self, *, network: str = "none", spaces: Spaces | None = None, without: frozenset[str] = frozenset()) -> None:
        self.form = find_form(spaces)
        self.loopback = network == "loopback"
        if self.loopback and self.form.spaces == "none":
            raise SandboxError(
                "an own loopback needs a network namespace, and this host grants none",
                hint=f"run as root, {ALLOW_SPACES}, or do without score.network",
            )
        rules = seccomp.rules(loopback=self.loopback, without=without)
        self.deputy = self.form.spaces == "none" and not self.form.root
        if self.form.spaces == "none":
            rules = (*rules, *(seccomp.Rule(name) for name in seccomp.ATTRIBUTES))
        if self.deputy:  # the run owns files outside its scratch folder: the supervisor looks at each of these calls
            rules = (*rules, *(seccomp.Rule(name, seccomp.ASK) for name in notify.CALLS if name not in without))
        self.filter = seccomp.Filter(seccomp.program(rules))
        self.facts = _facts(self.form, loopback=self.loopback)

    @property
    def lends(self) -> bool:
        """Whether a run can be a copy of a server: its namespaces can be entered, and its steps are known before they are made."""
        return self.form.spaces == "root" and self.form.private_proc and not self.loopback and available()

    def start(
        self,
        argv: list[str],
        *,
        cwd: Path,
        env: dict[str, str],
        reach: Reach,
        limits: Limits,
        pass_fds: tuple[int, ...] = (),
        preload: Path | None = None,
        lender: Lender | None = None,
    ) -> Child:
        """Start ``argv`` behind the wall; see ``Wall.start``."""
        if preload is not None:
            env = {**env, "LD_PRELOAD": str(preload)}
            reach = Reach((*reach.read, preload), reach.write, reach.private)
        uid = spare_uid() if self.form.root else None
        for folder in (*reach.write, *reach.private):
            if uid is not None:
                give(folder, uid)
        run = _Run(self, reach, limits, uid)
        spaces = self.form.spaces
        plan = Launch(
            argv=argv,
            env=env,
            cwd=cwd,
            limits=limits,
            processes=limits.processes,
            spaces=spaces,
            flags=native.CLONE_NEWNS | (native.CLONE_NEWNET if self.loopback else 0),
            mounts=None if spaces == "none" else run.mounts,
            settle=run.settle,
            tape=run.tape if spaces != "none" and self.form.private_proc and available() else None,
            lender=lender if self.lends and preload is None else None,
            ruleset=run.ruleset.fd,
            pass_fds=pass_fds,
            watched=tuple(map(str, reach.write if spaces != "none" else (*reach.write, *reach.private))),
            deputy=tuple(map(str, (*reach.write, *reach.private))) if self.deputy else (),
            group=run.group,
        )
        try:
            return launch(plan)
        finally:
            run.ruleset.close()


class _Run:
    """The steps of one start, in the processes they run in."""

    def __init__(self, wall: KernelWall, reach: Reach, limits: Limits, uid: int | None) -> None:
        self.form, self.loopback, self.filter, self.deputy = wall.form, wall.loopback, wall.filter, wall.deputy
        self.reach, self.limits, self.uid = reach, limits, uid
        self.plain = uid is not None and self.form.spaces == "root" and installations_open(reach.read)
        written = (*reach.write, *reach.private)
        self.covers = covers((*reach.read, *written) if covers(written) else reach.read) if self.plain else ()
        opened = _open_system()
        self.ruleset = landlock.Ruleset(self.form.abi, tcp=not self.loopback)
        self.ruleset.allow_opened(opened[str(path)] for path in reach.read if str(path) in opened)
        self.ruleset.allow_read(path for path in reach.read if str(path) not in opened)
        self.ruleset.allow_devices(_WRITE_DEVICES)
        if self.form.spaces == "none":
            self.ruleset.allow_write((*reach.write, *reach.private))
        if not self.form.private_proc:
            self.ruleset.allow_read(f"/proc/{name}" for name in _PROC_FILES)
        processes = limits.processes + 1  # one too many may start, so that it is seen
        if uid is None:  # of the same user: the supervisor's own two processes, or all there are
            processes += 2 if self.form.spaces == "user" else tasks_of(os.getuid())
        self.group = make_group(limits)
        self.rlimits = rlimits(limits, processes=processes, grouped=self.group is not None)

    def mounts(self) -> None:
        """In the supervisor, inside its namespaces: all read-only but the run's own folders; own /proc, /dev/shm, loopback.

        Rules name what is mounted, so those for the new mounts are made here.
        """
        native.mount("none", "/", None, native.MS_REC | native.MS_PRIVATE)
        owner = f",uid={self.uid},gid={self.uid}" if self.uid is not None else ""
        if self.plain:
            expose(self.covers)
        shared = [str(path) for path in self.reach.write]
        for path in shared:
            native.mount(path, path, None, native.MS_BIND)
        native.set_mount_flags("/", native.MS_RDONLY | native.MS_NOSUID, recursive=True)
        for path in shared:
            native.set_mount_flags(path, native.MS_NOSUID | native.MS_NODEV, native.MS_RDONLY)
        flags = native.MS_NOSUID | native.MS_NODEV
        size = self.limits.scratch_b
        for path in map(str, self.reach.private):
            native.mount("tmpfs", path, "tmpfs", flags, f"size={size},nr_inodes=200k,mode=0700{owner}")
        native.mount("tmpfs", "/dev/shm", "tmpfs", flags, f"size={min(_SHM_B, size)},nr_inodes=10k,mode=1777{owner}")  # noqa: S108
        if self.form.private_proc:
            native.mount("proc", "/proc", "proc", flags | native.MS_NOEXEC, "hidepid=2" if self.uid is not None else None)
            self.ruleset.allow_read(["/proc"])
        self.ruleset.allow_write((*self.reach.write, *self.reach.private, Path("/dev/shm")))  # noqa: S108
        if self.loopback:
            raise_loopback()

    def settle(self) -> int | None:
        """In the child, just before exec: give up everything. Gives back the filter's listener, if it has one."""
        prefer_to_be_killed()
        if self.uid is not None:
            drop_to(self.uid)
        if self.uid is None or self.plain:
            native.keep_only_capability(None)
        set_rlimits(self.rlimits)
        native.prctl(native.PR_SET_NO_NEW_PRIVS, 1)
        if not self.form.private_proc:
            self.ruleset.allow_read(["/proc/self"])
        self.ruleset.enforce()
        listener = self.filter.load(listen=self.deputy)
        return listener if self.deputy else None

    def tape(self, tape: Tape | Recipe) -> None:
        """As ``settle``, for a process that runs no interpreter."""
        keep = None if self.uid is None or self.plain else native.CAP_DAC_READ_SEARCH
        if self.uid is not None:
            tape.add("prctl", native.PR_SET_KEEPCAPS, 1)
            tape.add("setgroups", 0, 0)
            tape.add("setresgid", self.uid, self.uid, self.uid)
            tape.add("setresuid", self.uid, self.uid, self.uid)
        tape.add("capset", *native.capability_words(keep))
        tape.add("prctl", native.PR_CAP_AMBIENT, 4, 0, 0, 0)
        if keep is not None:
            tape.add("prctl", native.PR_CAP_AMBIENT, 2, keep, 0, 0)
        for kind, value in self.rlimits:
            tape.add("prlimit64", 0, kind, struct.pack("=QQ", value, value), 0)
        tape.add("prctl", native.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        tape.restrict(self.ruleset.fd)
        tape.filter(self.filter.header, self.filter.code)


@functools.cache
def _open_system() -> dict[str, bytes]:
    """The system's paths that exist, opened once for the life of this process: they stay, and opening them costs at every start."""
    return landlock.open_paths(map(Path, SYSTEM))


def find_form(spaces: Spaces | None = None) -> Form:
    """Find the strongest form that works here by trying (once a process and user); raises SandboxError if none does."""
    return _find_form(spaces, landlock.abi(), root=os.geteuid() == 0)


@functools.lru_cache(maxsize=16)
def _find_form(spaces: Spaces | None, version: int, *, root: bool) -> Form:
    if version == 0:
        raise SandboxError(
            "Landlock is not available on this kernel",
            hint="use Linux 6.2 or later with `landlock` in the lsm= list (cat /sys/kernel/security/lsm), or install bubblewrap",
        )
    order: tuple[Spaces, ...] = ("root", "none") if root else ("user", "none")
    for candidate in order if spaces is None else (spaces,):
        if candidate == "none":
            break
        for private_proc in (True, False):
            if _spaces_work(candidate, private_proc=private_proc):
                if version < landlock.NEEDED_ABI_WITH_NAMESPACES:
                    needed = landlock.NEEDED_ABI_WITH_NAMESPACES
                    hint = "use Linux 6.2 or later, or install bubblewrap"
                    raise SandboxError(f"Landlock ABI {version} is too old; {needed} is needed", hint=hint)
                return Form(candidate, root, version, private_proc)
    if spaces not in (None, "none"):
        raise SandboxError(f"no {spaces} namespaces on this host", hint="run as root or allow user namespaces")
    if version < landlock.NEEDED_ABI:
        raise SandboxError(
            f"Landlock ABI {version} cannot keep signals in; without namespaces {landlock.NEEDED_ABI} is needed",
            hint="use Linux 6.12 or later, run as root, allow user namespaces, or install bubblewrap",
        )
    return Form("none", root, version, private_proc=False)


def _spaces_work(spaces: Spaces, *, private_proc: bool) -> bool:
    def mounts() -> None:
        native.mount("none", "/", None, native.MS_REC | native.MS_PRIVATE)
        native.set_mount_flags("/", native.MS_RDONLY | native.MS_NOSUID, recursive=True)
        native.mount("tmpfs", "/dev/shm", "tmpfs", native.MS_NOSUID | native.MS_NODEV, "size=4096")  # noqa: S108
        if private_proc:
            native.mount("proc", "/proc", "proc", native.MS_NOSUID | native.MS_NODEV | native.MS_NOEXEC)

    plan = Launch(
        argv=["/bin/true"],
        env={},
        cwd=Path("/"),
        limits=Limits(),
        processes=64,
        spaces=spaces,
        flags=native.CLONE_NEWNS,
        settle=lambda: None,
        mounts=mounts,
    )
    try:
        with launch(plan) as child:
            return child.wait(10) == 0
    except SandboxError:
        return False


def _facts(form: Form, *, loopback: bool) -> WallFacts:
    holds = [
        f"files: Landlock ABI {form.abi}, nothing readable but what the run needs, nothing writable but its scratch folder",
        "network: own loopback only" if loopback else "network: no socket of any family (seccomp); Unix socket pairs only",
        "other processes: no ptrace, no signals, no /proc of others",
        "kernel: no namespaces, mounts, keys, bpf, perf, io_uring, userfaultfd, System V memory, terminal injection",
        "limits: data memory, processes and threads, descriptors, file size, scratch, output",
    ]
    lacks = ["names and sizes of files outside can be asked for (stat)"]
    group = group_version()
    if group:
        holds.append(f"memory of the whole run: cgroup v{group}")
    else:
        holds.append("memory of the whole run: counted by the supervisor")
    if form.root:
        holds.append("runs as an unused uid without capabilities but reading what Landlock grants")
    if form.spaces != "none":
        holds.append("own pid and mount namespace: the disk is read-only, nothing of the run survives")
    else:
        holds.append("descendants are swept when the run ends; chmod, chown and utime reach the scratch folder only")
        lacks.append("multiprocessing locks (/dev/shm is closed)")
    if not form.private_proc:
        lacks.append("/proc is reduced to a few files; child processes do not see /proc/self")
    return WallFacts(name="kernel", guarantees=tuple(holds), lacks=tuple(lacks))
