"""The bubblewrap wall: own pid, mount, net, ipc, uts (and, as an ordinary user, user) namespaces around the same filter and rlimits.

The run sees a root of its own that holds read-only binds of what it may read, its scratch folder, a minimal /dev and its own /proc:
names outside do not exist for it. Started as root it becomes an unused uid inside (``setpriv``), since process limits do not bind root.
"""

from __future__ import annotations

import functools
import os
import shutil
from pathlib import Path

from trivet.errors import SandboxError
from trivet.model import WallFacts
from trivet.stage import wall_seccomp as seccomp
from trivet.stage.wall_child import Child, Launch, Lender, Reach, launch
from trivet.stage.wall_expose import installations_open
from trivet.stage.wall_limits import Limits, give, group_version, make_group, prefer_to_be_killed, rlimits, set_rlimits, spare_uid, tasks_of

_PATH = "/usr/local/bin:/usr/bin:/bin"
_SHM_B = 64 << 20
_OF_BWRAP = 2  # its monitor and the first process of the namespace
INSTALL = "install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap)"
ALLOW_SPACES = "allow user namespaces for bwrap (sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile)"


class BubblewrapWall:
    """bwrap on this host; raises SandboxError where it is missing or cannot make its namespaces.

    Args:
        network: "none", or "loopback" (sockets are allowed; the namespace has nothing but its own loopback).
        without: names of seccomp rules left out (planted holes, tests only).
        program: the bwrap to use; None: find it.
    """

    def __init__(self, *, network: str = "none", without: frozenset[str] = frozenset(), program: str | None = None) -> None:
        self._bwrap = program or shutil.which("bwrap", path=_PATH) or ""
        if not self._bwrap:
            raise SandboxError("bubblewrap is not installed", hint=INSTALL)
        self._root = os.geteuid() == 0
        self._setpriv = shutil.which("setpriv", path=_PATH) or ""
        if self._root and not self._setpriv:
            raise SandboxError("started as root, bubblewrap needs setpriv to become an unused user", hint="install util-linux")
        self._filter = seccomp.program(seccomp.rules(loopback=network == "loopback", without=without))
        trouble = self._try()
        if trouble:
            raise SandboxError(f"bubblewrap does not work on this host: {trouble}", hint=f"{ALLOW_SPACES}, or run as root")
        group = group_version()
        self.facts = WallFacts(
            name="bubblewrap",
            guarantees=(
                "files: a root of its own with read-only binds of what the run needs; names outside do not exist",
                "network: own loopback only" if network == "loopback" else "network: no socket of any family (seccomp), empty namespace",
                "other processes: own pid namespace; no ptrace, nothing of the run survives",
                "kernel: no namespaces, mounts, keys, bpf, perf, io_uring, userfaultfd, System V memory, terminal injection",
                "limits: data memory, processes and threads, descriptors, file size, scratch, output",
                f"memory of the whole run: cgroup v{group}" if group else "memory of the whole run: counted by the supervisor",
            ),
        )

    lends = False

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
        del lender  # never
        if preload is not None:
            env = {**env, "LD_PRELOAD": str(preload)}
            reach = Reach((*reach.read, preload), reach.write, reach.private)
        uid = spare_uid() if self._root else None
        if uid is not None:
            for folder in (*reach.write, *reach.private):
                give(folder, uid)
        code = os.memfd_create("filter", 0)
        try:
            os.write(code, self._filter)
            os.lseek(code, 0, os.SEEK_SET)
            command = [self._bwrap, *self._namespaces(), *_binds(reach, limits), "--seccomp", str(code), "--chdir", str(cwd)]
            # What the loader reads must not reach bwrap and setpriv themselves.
            loader = {name: value for name, value in env.items() if name.startswith("LD_")}
            for name, value in loader.items():
                command += ["--setenv", name, value]
            group = make_group(limits)
            plan = Launch(
                argv=[*command, "--", *self._become(uid, plain=installations_open(reach.read)), *argv],
                env={name: value for name, value in env.items() if name not in loader},
                cwd=Path("/"),
                limits=limits,
                spaces="none",
                settle=functools.partial(_settle, rlimits(limits, processes=_processes(limits, uid), grouped=group is not None)),
                pass_fds=(*pass_fds, code),
                watched=tuple(map(str, reach.write)),
                processes=limits.processes + _OF_BWRAP,
                group=group,
                shell_status=True,
            )
            return launch(plan)
        finally:
            os.close(code)

    def _namespaces(self) -> list[str]:
        user = [] if self._root else ["--unshare-user"]
        kept = (
            [word for name in ("SETUID", "SETGID", "SETPCAP", "DAC_READ_SEARCH") for word in ("--cap-add", f"CAP_{name}")]
            if self._root
            else []
        )
        spaces = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
        return [*user, *spaces, *kept, "--die-with-parent", "--new-session"]

    def _become(self, uid: int | None, *, plain: bool) -> list[str]:
        """``plain``: others may read all it needs (the folders above are bwrap's own), so that no capability is left to it."""
        if uid is None:
            return []
        keep = "-all" if plain else "-all,+dac_read_search"
        who = [f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        return [self._setpriv, *who, f"--inh-caps={keep}", f"--ambient-caps={keep}", f"--bounding-set={keep}", "--no-new-privs"]

    def _try(self) -> str:
        system = tuple(Path(name) for name in ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache") if Path(name).exists())
        try:
            with self.start(["/bin/true"], cwd=Path("/"), env={}, reach=Reach(system), limits=Limits()) as child:
                status = child.wait(10)
        except SandboxError as error:
            return error.message
        return "" if status == 0 else child.output.decode("utf-8", "replace").strip()[-300:] or f"it ended with {status}"


def _binds(reach: Reach, limits: Limits) -> list[str]:
    """The mounts, parents before what lies in them, so that nothing hides anything."""
    rows: list[tuple[str, list[str]]] = [
        ("/proc", ["--proc", "/proc", "--remount-ro", "/proc"]),  # else the memory of its first process could be written
        ("/dev", ["--dev", "/dev"]),
        ("/dev/shm", ["--perms", "1777", "--size", str(min(_SHM_B, limits.scratch_b)), "--tmpfs", "/dev/shm"]),  # noqa: S108
    ]
    rows += [(str(path), ["--ro-bind-try", str(path), str(path)]) for path in reach.read]
    rows += [(str(path), ["--bind", str(path), str(path)]) for path in reach.write]
    rows += [(str(path), ["--perms", "0777", "--size", str(limits.scratch_b), "--tmpfs", str(path)]) for path in reach.private]
    above = {str(folder) for path, _ in rows for folder in Path(path).parents[:-1]} - {path for path, _ in rows}
    # bwrap makes the folders above a mount for its own user alone.
    rows += [(folder, ["--perms", "0755", "--dir", folder]) for folder in above]
    rows.sort(key=lambda row: len(Path(row[0]).parts))
    return [word for _, words in rows for word in words]


def _processes(limits: Limits, uid: int | None) -> int:
    """RLIMIT_NPROC: one too many may start, so that it is seen; of an ordinary user the kernel counts all processes there are."""
    return limits.processes + 1 + (0 if uid is not None else _OF_BWRAP + tasks_of(os.getuid()))


def _settle(rows: tuple[tuple[int, int], ...]) -> None:
    """In the child, just before bwrap: the limits it and the run inherit."""
    prefer_to_be_killed()
    set_rlimits(rows)
