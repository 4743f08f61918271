"""Objects by id: one long-lived ``cat-file`` child, and the raw form of trees.

What is read is hashed again and compared with the id that was asked for, so that an object store cannot answer with other bytes.
"""

from __future__ import annotations

import hashlib
import subprocess
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import msgspec

from trivet.errors import GitError
from trivet.git_home import git_environment

FILE, EXECUTABLE, LINK, GITLINK, FOLDER = 0o100644, 0o100755, 0o120000, 0o160000, 0o040000
_AT_ONCE = 256
_MODES = {b"%o" % mode: mode for mode in (FILE, EXECUTABLE, LINK, GITLINK, FOLDER)}


class Item(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One row of one tree level: a name (bytes, no slash), its mode and object id."""

    name: bytes
    mode: int
    oid: str


def hash_of(kind: str, data: bytes, object_format: str) -> str:
    """The object id of ``data``; ``object_format`` is ``sha1`` or ``sha256``."""
    header = f"{kind} {len(data)}\0".encode()
    return hashlib.new(object_format, header + data, usedforsecurity=False).hexdigest()


def parse_tree(data: bytes, width_b: int) -> tuple[Item, ...]:
    """Read a raw tree object; ``width_b`` is the length of a binary object id (20 or 32)."""
    rows = []
    at, end = 0, len(data)
    while at < end:
        space = data.index(b" ", at)
        zero = data.index(b"\0", space)
        stop = zero + 1 + width_b
        mode = data[at:space]
        known = _MODES.get(mode)
        rows.append(Item(name=data[space + 1 : zero], mode=int(mode, 8) if known is None else known, oid=data[zero + 1 : stop].hex()))
        at = stop
    return tuple(rows)


def format_tree(items: Iterable[Item]) -> bytes:
    """The raw tree object of one level, in git's order (a folder sorts as if its name ended with a slash)."""
    rows = sorted(items, key=lambda item: item.name + (b"/" if item.mode == FOLDER else b""))
    return b"".join(b"%o %s\0" % (item.mode, item.name) + bytes.fromhex(item.oid) for item in rows)


def write_loose(objects: Path, kind: str, data: bytes, object_format: str) -> str:
    """Write one loose object below ``objects`` and give its id."""
    oid = hash_of(kind, data, object_format)
    place = objects / oid[:2] / oid[2:]
    if not place.exists():
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(zlib.compress(f"{kind} {len(data)}\0".encode() + data, 1))
    return oid


class Reader:
    """One ``git cat-file --batch-command`` child in one git folder."""

    def __init__(self, program: str, git_dir: Path, object_format: str) -> None:
        self._format = object_format
        self._errors = b""
        self._child = subprocess.Popen(
            [program, "cat-file", "--batch-command"],
            cwd=git_dir,
            env=git_environment(program, git_dir),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if self._child.stdin is None or self._child.stdout is None:
            raise GitError("git could not be started")
        self._stdin: IO[bytes] = self._child.stdin
        self._stdout: IO[bytes] = self._child.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the child."""
        try:
            self._stdin.close()
        except OSError:
            self._child.kill()
        self._stdout.close()
        self._child.wait()

    def info(self, name: str) -> tuple[str, str, int] | None:
        """``(oid, kind, size in bytes)`` of an object name, or None when there is none."""
        self._ask(f"info {name}")
        return self._header(name)

    def object(self, name: str) -> tuple[str, str, bytes] | None:
        """``(oid, kind, data)`` of an object name, or None when there is none; the data is checked against the id."""
        self._ask(f"contents {name}")
        return self._answer(name)

    def blobs(self, oids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The bytes of many blobs, in the order asked for."""
        waiting = list(oids)
        for start in range(0, len(waiting), _AT_ONCE):
            part = waiting[start : start + _AT_ONCE]
            # The requests of one part fit into a pipe, so neither side can wait for the other.
            self._ask("\n".join(f"contents {oid}" for oid in part))
            answers = []
            for oid in part:
                answer = self._answer(oid)
                if answer is None or answer[1] != "blob":
                    raise GitError(f"the repository lacks blob {oid}", hint="fetch all objects; a partial clone cannot be judged")
                answers.append((oid, answer[2]))
            yield from answers

    def _ask(self, line: str) -> None:
        try:
            self._stdin.write(line.encode("utf-8", "surrogateescape") + b"\n")
            self._stdin.flush()
        except OSError as error:
            raise GitError("git ended unexpectedly", hint="git 2.38 or later is needed; see `git fsck`") from error

    def _header(self, name: str) -> tuple[str, str, int] | None:
        line = self._stdout.readline()
        parts = line.decode("utf-8", "surrogateescape").rstrip("\n").rsplit(" ", 2)
        if len(parts) == 3 and parts[2].isdigit() and " " not in parts[0]:  # noqa: PLR2004 - oid, kind, size
            return parts[0], parts[1], int(parts[2])
        if line.endswith((b" missing\n", b" ambiguous\n", b" submodule\n")):
            return None
        raise GitError(f"git did not answer for {name!r}", hint="git 2.38 or later is needed; see `git fsck`")

    def _answer(self, name: str) -> tuple[str, str, bytes] | None:
        header = self._header(name)
        if header is None:
            return None
        oid, kind, size = header
        data = self._stdout.read(size)
        if len(data) != size or self._stdout.read(1) != b"\n":
            raise GitError(f"object {oid} is cut short", hint="see `git fsck`")
        if hash_of(kind, data, self._format) != oid:
            raise GitError(f"object {oid} does not have the bytes its id names", hint="see `git fsck`")
        return oid, kind, data
