"""Landlock: what a run may read and write, by file hierarchy; no TCP, no signals and no abstract sockets to the outside.

A ruleset is built in the parent (one descriptor), enforced in the forked child with two system calls. All rights that the running
ABI knows are handled: what no rule grants is denied.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

from trivet.stage import wall_native as native

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_RULE_PATH = 1
_VERSION_FLAG = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
_FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
_READ = EXECUTE | READ_FILE | READ_DIR
# How many file-system rights each ABI knows: bits 0..n-1. Later ABIs keep the sixteen of ABI 5.
_RIGHTS_OF_ABI = {1: 13, 2: 14, 3: 15, 4: 15}
_ABI_NET, _ABI_SCOPES = 4, 6

NEEDED_ABI = 6
"""Without a pid namespace: signals and abstract sockets must be scoped by Landlock."""
NEEDED_ABI_WITH_NAMESPACES = 3
"""With own pid namespace: truncation must be handled."""


def abi() -> int:
    """The Landlock ABI of the running kernel; 0 where Landlock is absent or switched off."""
    if not native.LINUX:
        return 0
    try:
        return native.syscall(_CREATE, None, 0, _VERSION_FLAG, what="landlock version")
    except OSError:
        return 0


class Ruleset:
    """A Landlock ruleset of all rights of the running ABI; close it when the child has been forked.

    Args:
        version: the ABI to handle the rights of (the running one).
        tcp: whether TCP connections and listeners are denied too (not where the run has its own loopback).
    """

    def __init__(self, version: int, *, tcp: bool = True) -> None:
        rights = (1 << _RIGHTS_OF_ABI.get(version, 16)) - 1
        attributes = struct.pack("Q", rights)
        if version >= _ABI_NET:
            attributes += struct.pack("Q", 3 if tcp else 0)
        if version >= _ABI_SCOPES:
            attributes += struct.pack("Q", 3)
        self._rights = rights
        self.fd = native.syscall(_CREATE, attributes, len(attributes), 0, what="landlock ruleset")

    def allow_read(self, paths: Iterable[Path | str]) -> None:
        """Let the run read and execute what is at or below each path; paths that do not exist are left out."""
        for path in paths:
            self._allow(path, _READ)

    def allow_write(self, paths: Iterable[Path | str]) -> None:
        """Let the run read, write, make and remove below each path, device files excepted; the paths must exist."""
        for path in paths:
            self._allow(path, self._rights & ~(_MAKE_CHAR | _MAKE_BLOCK | IOCTL_DEV), must=True)

    def allow_opened(self, rules: Iterable[bytes]) -> None:
        """As ``allow_read``, of what ``open_paths`` has opened before."""
        for rule in rules:
            native.add_rule(_ADD, self.fd, _RULE_PATH, rule)

    def allow_devices(self, paths: Iterable[str]) -> None:
        """Let the run read and write the named device files."""
        for path in paths:
            self._allow(path, READ_FILE | WRITE_FILE)

    def _allow(self, path: Path | str, rights: int, *, must: bool = False) -> None:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            if must:
                raise
            return
        try:
            if not stat.S_ISDIR(os.fstat(fd).st_mode):
                rights &= _FILE_RIGHTS
            native.add_rule(_ADD, self.fd, _RULE_PATH, struct.pack("=Qi", rights & self._rights, fd))
        finally:
            os.close(fd)

    def enforce(self) -> None:
        """Wall this thread in, for good. Needs no_new_privs."""
        native.syscall(_RESTRICT, self.fd, 0, what="landlock restrict")

    def close(self) -> None:
        """Let go of the descriptor."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def open_paths(paths: Iterable[Path]) -> dict[str, bytes]:
    """Open what exists of ``paths``, for as long as this process lives: the rule that lets it be read and executed, by path."""
    found = {}
    for path in paths:
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rights = _READ if stat.S_ISDIR(os.fstat(fd).st_mode) else _READ & _FILE_RIGHTS
            found[str(path)] = struct.pack("=Qi", rights, fd)
    return found
