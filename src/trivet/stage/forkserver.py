"""Servers that are forked for each run: one for each hash seed, in the project's interpreter, for the life of one judgement.

A server imports the runner and what runs look at anyway, and nothing of the source or sealed zone; it compiles files of the trees without
running them. It has no network, a read-only view of the disk, and no capability but those by which a copy of it enters the namespaces of a
run's supervisor (see ``probe.server``). Where it cannot be had, runs start a fresh interpreter: the outcome is the same.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import subprocess
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from trivet.probe import wire
from trivet.stage import wall_native as native
from trivet.stage import wall_seccomp as seccomp
from trivet.stage.wall import Lender, Wall

PROBE = Path(wire.__file__).resolve().parent
_NEEDED = (2, 6, 7, 8, 18, 21)
"""Capabilities of a server: read what is granted, change user and groups, capabilities, root folder and namespaces (for its copies)."""
_PATIENCE_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Warmth:
    """What servers know before their first copy.

    ``root``, ``files``, ``source_names``: as in a job (``source_names`` of every tree). ``make``: (absolute path, kind) of files to keep
    bytecode of; a kind is "test" (the runner rewrites it), "sealed" or "source".
    """

    root: str
    files: tuple[str, ...]
    source_names: tuple[str, ...]
    make: tuple[tuple[str, str], ...] = ()


class Servers:
    """The servers of one judgement, by hash seed. A context manager; all of them end with it.

    Args:
        wall: what the copies go behind.
        python: the project's interpreter (absolute).
        environment: what every run has in common, hash seed excepted.
    """

    def __init__(self, wall: Wall, python: Path, environment: Mapping[str, str]) -> None:
        self._wall, self._python, self._environment = wall, python, dict(environment)
        self._running: dict[str, _Server | None] = {}
        self._lock = threading.Lock()
        self._warmth: Warmth | None = None
        self._shelf = -1

    def start(self, hash_seed: str) -> None:
        """Start a server ahead of its first use, if this wall can hold its copies."""
        with self._lock:
            self._of(hash_seed)

    def warm(self, warmth: Warmth) -> None:
        """Tell all servers, present and to come, what to know; they need not be waited for."""
        with self._lock:
            self._warmth = warmth
            self._shelf = os.memfd_create("shelf", os.MFD_CLOEXEC) if self._shelf < 0 else self._shelf
            for server in self._running.values():
                if server is not None:
                    server.warm(warmth, self._shelf)

    def lender(self, hash_seed: str, *, one_cpu: bool = False) -> Lender | None:
        """Who lends the process of a run; None before ``warm`` and where none can be had."""
        with self._lock:
            if self._warmth is None:
                return None
            server = self._of(hash_seed)
            return None if server is None else Lender(server.fd, one_cpu=one_cpu)

    def pids(self) -> tuple[int, ...]:
        """The processes of the servers that run."""
        with self._lock:
            return tuple(server.pid for server in self._running.values() if server is not None)

    def close(self) -> None:
        """End all servers."""
        with self._lock:
            for server in self._running.values():
                if server is not None:
                    server.close()
            self._running.clear()
            self._warmth = None
            if self._shelf >= 0:
                os.close(self._shelf)
                self._shelf = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _of(self, hash_seed: str) -> _Server | None:
        if hash_seed not in self._running:
            self._running[hash_seed] = self._made(hash_seed) if self._wall.lends else None
        return self._running[hash_seed]

    def _made(self, hash_seed: str) -> _Server | None:
        try:
            server = _Server(self._python, {**self._environment, "PYTHONHASHSEED": hash_seed})
        except OSError:
            return None  # the run itself will say what is wrong with the interpreter
        if self._warmth is not None:
            server.warm(self._warmth, self._shelf)
        return server


@dataclass
class _Server:
    """One server process and our end of its socket."""

    python: Path
    environment: dict[str, str]
    fd: int = field(init=False, default=-1)

    def __post_init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.fd = self._socket.fileno()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        with theirs:
            self._process = subprocess.Popen(
                [str(self.python), "-s", str(PROBE / "__main__.py"), "--serve", str(theirs.fileno())],
                env=self.environment,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        rules = seccomp.program(seccomp.rules(without=frozenset({"setns"})))
        caps = _capabilities()
        self._send({"do": "confine", "filter": rules.hex(), "capset": native.CAPSET, "caps": [words.hex() for words in caps]})

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def warm(self, warmth: Warmth, shelf: int) -> None:
        """Tell what to know. ``shelf``: a file in memory where the first server leaves its bytecode for the others."""
        told = {"root": warmth.root, "files": warmth.files, "source_names": warmth.source_names, "make": warmth.make}
        book = os.memfd_create("warm", os.MFD_CLOEXEC)  # a large project's list is longer than a message may be
        try:
            os.write(book, json.dumps(told).encode("ascii"))
            self._send({"do": "warm"}, (book, shelf))
        finally:
            os.close(book)

    def _send(self, message: Mapping[str, object], fds: Iterable[int] = ()) -> None:
        with contextlib.suppress(OSError):  # a server that has died lends nothing
            socket.send_fds(self._socket, [json.dumps(message).encode("ascii")], list(fds))

    def close(self) -> None:
        """Hang up, and wait until it is gone."""
        self._socket.close()
        self.fd = -1
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _capabilities() -> tuple[bytes, bytes]:
    mask = sum(1 << number for number in _NEEDED)
    return struct.pack("Ii", 0x20080522, 0), struct.pack("IIIIII", mask, mask, 0, 0, 0, 0)
