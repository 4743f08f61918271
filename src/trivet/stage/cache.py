"""Records by content: what ran once under one key need not run again.

A key names everything that the value depends on. Entries are files that appear whole or not at all. A cache that cannot be trusted or
used is no cache; it never stops a judgement.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import msgspec

from trivet import __version__
from trivet.probe import wire

_T = TypeVar("_T")
_MAX_B = 64 * 1024 * 1024


def key_of(facts: Mapping[str, object]) -> str:
    """The SHA-256 of facts in canonical JSON."""
    return hashlib.sha256(msgspec.json.encode(facts, order="sorted")).hexdigest()


@lru_cache(maxsize=1)
def build_digest() -> str:
    """What of trivet itself a record depends on: its version and the bytes of the probe and of the stage."""
    digest = hashlib.sha256(__version__.encode())
    probe = Path(wire.__file__).resolve().parent
    files = [*probe.glob("*.py"), *(probe.parent / "stage").glob("*.py"), probe.parent / "scoring.py", probe.parent / "model.py"]
    for file in sorted(files):
        with contextlib.suppress(OSError):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


class Cache:
    """Values by kind and key below one folder.

    Args:
        folder: where entries lie; None keeps nothing. It must belong to this user and be closed to others.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder if folder is not None and _own(folder) else None

    def get(self, kind: str, key: str, as_: type[_T]) -> _T | None:
        """The value, or None where there is none that can be read whole."""
        if self.folder is None:
            return None
        path = self._path(kind, key)
        try:
            if path.stat().st_size > _MAX_B:
                return None
            return msgspec.json.decode(path.read_bytes(), type=as_)
        except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
            return None

    def put(self, kind: str, key: str, value: object) -> None:
        """Keep a value; a full or unwritable disk is no error."""
        if self.folder is None:
            return
        path = self._path(kind, key)
        partial = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            partial.write_bytes(msgspec.json.encode(value))
            partial.replace(path)
        except (OSError, TypeError, ValueError):
            with contextlib.suppress(OSError):
                partial.unlink()

    def _path(self, kind: str, key: str) -> Path:
        return (self.folder or Path()) / kind / key[:2] / f"{key[2:]}.json"


def _own(folder: Path) -> bool:
    """Whether the folder exists or can be made, is ours, and nobody else may write to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.stat()
    except OSError:
        return False
    return found.st_uid == os.getuid() and not found.st_mode & 0o022
