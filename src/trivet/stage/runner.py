"""One supervised run: start the probe behind the wall, read its records, end it in bounds."""

from __future__ import annotations

import itertools
import os
import secrets
import selectors
import shutil
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from trivet.errors import ProbeError
from trivet.model import Isolation, RunEnd, RunRecord, ScorePolicy
from trivet.pace import Tick, Ticker, still
from trivet.probe import wire
from trivet.stage import copies, split
from trivet.stage.forkserver import Servers
from trivet.stage.records import Fold, ProtocolError
from trivet.stage.wall import Child, Lender, Limits, Reach, Wall, interpreter_reach

PROBE = Path(wire.__file__).resolve().parent
RUNNER_NEEDS = (
    "pytest",
    "_pytest",
    "pluggy",
    "iniconfig",
    "packaging",
    "exceptiongroup",
    "tomli",
    "pygments",
    "colorama",
    "typing_extensions",
)
"""Top-level modules that pytest itself imports: a project that makes one of them is imported from the scoring tree even by the runner."""

_TICK_S = 0.2
_GRACE_S = 2.0
_OUTPUT_KEPT = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """How a run differs from the pinned one: hash seed, seconds added to the clock, order of tests, processor count."""

    hash_seed: int = 0
    clock_shift_s: float = 0.0
    order_seed: int | None = None
    one_cpu: bool = False
    fold: str = ""
    env: tuple[tuple[str, str], ...] = ()
    """Variables of the environment that are otherwise; "" takes one away."""


PINNED = Variation()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """A laid tree and what lies where in it.

    ``root`` is absolute. ``source_roots``: folders (absolute) or files of the source zone. ``source_names``: top-level modules that
    production code brings. ``own_runner``: those of them that the runner needs, as base has them.
    ``sealed``: further oracle files inside of source roots. ``visible``: what production code sees of the tree in split isolation.
    """

    root: Path
    source_roots: tuple[str, ...]
    source_names: tuple[str, ...]
    own_runner: tuple[str, ...] = ()
    sealed: tuple[str, ...] = ()
    visible: tuple[str, ...] = ()
    recordings: str = ""
    """Where recorded HTTP exchanges lie, relative to ``root``; "" where there are none."""
    writable: bool = False
    """Each shared run gets a copy that it may write to (see ``stage.copies``)."""


def clock_of(policy: ScorePolicy) -> float | None:
    """The policy's clock in seconds since the epoch; None is the real clock."""
    return None if policy.clock == "real" else datetime.fromisoformat(policy.clock).timestamp()


def pinned_environment(policy: ScorePolicy, python: Path, folder: Path) -> dict[str, str]:
    """What the environments of all runs have in common but for the hash seed; ``folder`` is a run's own."""
    clock = clock_of(policy)
    return {
        "PATH": os.pathsep.join((str(python.parent), "/usr/local/bin", "/usr/bin", "/bin")),
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONDONTWRITEBYTECODE": "1",
        "SOURCE_DATE_EPOCH": str(int(clock if clock is not None else policy.seed)),
        **dict(policy.env),
    }


@dataclass(slots=True)
class Runner:
    """Runs jobs on one laid tree.

    Args:
        stand: the tree.
        policy: limits, clock, seeds.
        wall: what holds the run in.
        python: the project's interpreter (absolute).
        scratch: an existing folder of ours; each run gets a fresh folder below it.
        preload: a library that freezes the clock (libfaketime), where the interpreter has no time-machine; None without.
        tick: is told how far each run is.
    """

    stand: Stand
    policy: ScorePolicy
    wall: Wall
    python: Path
    scratch: Path
    preload: Path | None = None
    tick: Ticker = still
    servers: Servers | None = None
    """Who lends the process of a run, in place of a fresh interpreter; None: nobody."""
    _count: itertools.count[int] = field(default_factory=itertools.count)

    def job(self, files: Iterable[str], *, variation: Variation = PINNED, **fields: object) -> wire.Job:
        """A job for these sealed files with all pinned values filled in; ``fields`` override those of ``wire.Job``."""
        clock = clock_of(self.policy)
        values: dict[str, object] = {
            "clock": None if clock is None else clock + variation.clock_shift_s,
            "clock_asked": self.policy.clock_asked,
            "clock_from": "preload" if self.preload and clock is not None else "",
            "seed": self.policy.seed,
            "order_seed": variation.order_seed,
            "drop": [row.id for row in self.policy.exclude],
            "source_roots": list(self.stand.source_roots),
            "source_names": list(self.stand.source_names),
            "own_runner": list(self.stand.own_runner),
            "sealed": list(self.stand.sealed),
            "test_timeout_s": self.policy.test_timeout_s,
            **fields,
        }
        root = str(self.stand.root)
        paths = [os.path.normpath(self.stand.root / path) for path in self.policy.paths]
        job = wire.Job(root=root, files=list(files), paths=paths, nonce=secrets.token_hex(16))
        for name, value in values.items():
            setattr(job, name, value)
        if self.stand.recordings:
            job.extra = {**job.extra, "recorded": self.stand.recordings}
        return job

    def run(self, job: wire.Job, *, variation: Variation = PINNED, pass_fds: tuple[int, ...] = ()) -> RunRecord:
        """Run one job to its end or to a limit; nothing that it started lives on.

        Raises:
            ProbeError: the interpreter cannot be started at all.
        """
        folder = self.scratch / f"run-{secrets.token_hex(8)}"
        folder.mkdir(parents=True)
        job.scratch = str(folder)
        try:
            if job.isolation == "split" and job.subject_fd < 0:
                return self._run_split(job, folder, variation)
            if self.stand.writable and job.isolation == "shared":
                return self._run_in_copy(job, folder, variation, pass_fds)
            return self._run(job, folder, variation, pass_fds)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run_in_copy(self, job: wire.Job, folder: Path, variation: Variation, pass_fds: tuple[int, ...]) -> RunRecord:
        """Run a job on a copy that is thrown away."""
        copy = folder.with_name(folder.name + "-tree")
        try:
            copies.copy_tree(self.stand.root, copy)
            record = self._run(copies.moved(job, self.stand.root, copy), folder, variation, pass_fds)
            return replace(record, signs=(*record.signs, *copies.changed(self.stand.root, copy)))
        finally:
            shutil.rmtree(copy, ignore_errors=True)

    def _run_split(self, job: wire.Job, folder: Path, variation: Variation) -> RunRecord:
        """Run a job with the source in a process of its own."""
        home = folder.with_name(folder.name + "-app")
        tree, own = home / "app", home / "srv"
        try:
            split.lay_visible(self.stand.root, self.stand.visible, tree)
            own.mkdir()
            own.chmod(0o777)  # the subject may be another user
            with split.start_subject(
                self.wall, python=self.python, root=self.stand.root, tree=tree, scratch=own, paths=job.paths, limits=self.limits(),
                hash_seed=self._hash_seed(job, variation),
            ) as subject:
                job.subject_fd, job.extra["split"] = subject.fd, subject.facts
                return self._run(job, folder, variation, (subject.fd,), peer=subject.child)
        finally:
            shutil.rmtree(home, ignore_errors=True)

    def environment(self, folder: Path, job: wire.Job, variation: Variation = PINNED) -> dict[str, str]:
        """The whole environment of a run, built from nothing."""
        values = pinned_environment(self.policy, self.python, folder) | {"PYTHONHASHSEED": self._hash_seed(job, variation)}
        values |= dict(self.policy.env)
        if job.clock_from == "preload" and job.clock is not None:
            values["FAKETIME"] = datetime.fromtimestamp(job.clock, UTC).strftime("@%Y-%m-%d %H:%M:%S")
            values["FAKETIME_DONT_FAKE_MONOTONIC"] = values["DONT_FAKE_MONOTONIC"] = "1"
        values.update(variation.env)
        return {name: value for name, value in values.items() if value or name not in dict(variation.env)}

    def _hash_seed(self, job: wire.Job, variation: Variation) -> str:
        """The hash seed: 0 is a mark of a pinned run, so judge and subject share another one where the source runs apart."""
        return str(variation.hash_seed or (self.policy.seed % 2**32 if job.isolation == "split" else 0))

    def limits(self) -> Limits:
        """The policy's limits in the wall's words."""
        policy = self.policy
        return Limits(memory_b=policy.memory_b, processes=policy.processes, output_b=policy.output_b, scratch_b=policy.scratch_b)

    def _run(
        self, job: wire.Job, folder: Path, variation: Variation, pass_fds: tuple[int, ...], *, peer: Child | None = None
    ) -> RunRecord:
        job_fd = os.memfd_create("job", 0)
        reader, writer = os.pipe()
        try:
            os.write(job_fd, wire.dump_job(job))
            os.lseek(job_fd, 0, os.SEEK_SET)
            argv = [str(self.python), "-s", str(PROBE / "__main__.py"), str(job_fd), str(writer)]
            if variation.one_cpu and shutil.which("taskset"):
                argv[0:0] = [shutil.which("taskset") or "taskset", "-c", "0"]
            began = time.monotonic()
            child = self._start(argv, job, folder, variation, (job_fd, writer, *pass_fds))
            os.close(writer)
            writer = -1
            fold = Fold(job.nonce, job.root, job.scratch)
            try:
                end = _Watchman(child, reader, fold, job, self.policy.timeout_s, peer, self.tick).watch()
            finally:
                child.close()
                self.tick(Tick(run=job.nonce, over=True))
            output = child.output.decode("utf-8", "replace")
            isolation: Isolation = "split" if job.isolation == "split" else "shared"
            return fold.record(
                isolation=isolation, end=end, seconds=time.monotonic() - began, output=output[-_OUTPUT_KEPT:], lifted=tuple(job.lift)
            )
        finally:
            for fd in (job_fd, reader, writer):
                if fd >= 0:
                    os.close(fd)

    def _start(self, argv: list[str], job: wire.Job, folder: Path, variation: Variation, fds: tuple[int, ...]) -> Child:
        root = Path(job.root)
        own = () if root == self.stand.root else (root,)
        reach = Reach(read=(root, PROBE, *interpreter_reach(self.python)), write=own, private=(folder,))
        environment = self.environment(folder, job, variation)
        preload = self.preload if job.clock_from == "preload" else None
        try:
            return self.wall.start(
                argv,
                cwd=root,
                env=environment,
                reach=reach,
                limits=self.limits(),
                pass_fds=fds,
                preload=preload,
                lender=self._lender(environment["PYTHONHASHSEED"], variation),
            )
        except OSError as error:
            message = f"{self.python} cannot be started: {error.strerror}"
            raise ProbeError(message, where="score.python", hint="Name the project's interpreter.") from error

    def _lender(self, hash_seed: str, variation: Variation) -> Lender | None:
        """A server for runs whose runner is not part of the tree; a hash seed that no other run has is not worth one."""
        if self.servers is None or self.preload is not None or self.stand.own_runner or variation.hash_seed:
            return None
        return self.servers.lender(hash_seed, one_cpu=variation.one_cpu)


class _Watchman:
    """Reads records until the run is over, one way or another. ``peer`` is the subject of a split run: its limits end the run as well."""

    def __init__(
        self, child: Child, reader: int, fold: Fold, job: wire.Job, timeout_s: float, peer: Child | None = None, tick: Ticker = still
    ) -> None:
        self.child, self.reader, self.fold, self.peer = child, reader, fold, peer
        self.tick, self.told = tick, (-1, -1)
        self.run, self.control = job.nonce, job.mode == "control"
        self.test_s = job.test_timeout_s
        self.total_s = timeout_s
        os.set_blocking(reader, False)

    def watch(self) -> RunEnd:
        """Read to the end; returns how it came."""
        began = self.since = time.monotonic()
        current = ""
        with selectors.DefaultSelector() as selector:
            selector.register(self.reader, selectors.EVENT_READ)
            while True:
                selector.select(_TICK_S)
                try:
                    open_ = self._read()
                except ProtocolError as error:
                    return RunEnd(how="protocol", detail=str(error), test=self.fold.current)
                self._tell()
                now = time.monotonic()
                if self.fold.closed:
                    return self._closed()
                if self.fold.current != current:
                    current, self.since = self.fold.current, now
                if breach := self._breach():
                    return RunEnd(how="limit", limit=breach, detail=breach, test=current)
                status = self.child.poll()
                if status is not None:
                    return self._ended(status, current)
                late = self._late(began, now, current)
                if late is not None:
                    return late
                if not open_:
                    time.sleep(0.01)  # the descriptor is closed, the process lives on: wait for its end or a limit

    def _tell(self) -> None:
        done, total = self.fold.finished, len(self.fold.collected)
        if (done, total) != self.told:
            self.told = (done, total)
            what: Literal["tests", "controls"] = "controls" if self.control else "tests"
            self.tick(Tick(run=self.run, what=what, done=done, total=total, test=self.fold.current))

    def _breach(self) -> str:
        if self.peer is not None and self.peer.poll() is not None and self.peer.breach:
            return self.peer.breach
        return self.child.breach

    def _late(self, began: float, now: float, current: str) -> RunEnd | None:
        if current and now - self.since > self.test_s:
            return RunEnd(how="timeout", limit="test_timeout_s", detail=f"a test ran longer than {self.test_s:g} s", test=current)
        if not current and now - self.since > max(2 * self.test_s, 30.0):
            what = "collection" if self.fold.collecting else "the time between two tests"
            return RunEnd(how="timeout", limit="test_timeout_s", detail=f"{what} took longer than {max(2 * self.test_s, 30.0):g} s")
        if now - began > self.total_s:
            return RunEnd(how="timeout", limit="timeout_s", detail=f"the run took longer than {self.total_s:g} s", test=current)
        return None

    def _read(self) -> bool:
        while True:
            try:
                data = os.read(self.reader, 1 << 16)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.fold.feed(data)

    def _closed(self) -> RunEnd:
        """The closing message has come: nothing may follow it."""
        self.child.wait(_GRACE_S)
        try:
            self._read()
        except ProtocolError as error:
            return RunEnd(how="protocol", detail=str(error))
        if self.fold.refused:
            return RunEnd(how="refused", detail=self.fold.refused)
        return RunEnd(how="closed", detail=self.fold.internal)

    def _ended(self, status: int, current: str) -> RunEnd:
        try:
            self._read()
        except ProtocolError as error:
            return RunEnd(how="protocol", detail=str(error), test=self.fold.current)
        if self.fold.closed:
            return self._closed()
        current = self.fold.current or current
        if breach := self._breach():
            return RunEnd(how="limit", limit=breach, detail=breach, test=current)
        if status < 0:
            try:
                name = signal.Signals(-status).name
            except ValueError:
                name = f"signal {-status}"
            return RunEnd(how="signal", detail=name, test=current)
        return RunEnd(how="exit", detail=f"exit status {status}", test=current)
