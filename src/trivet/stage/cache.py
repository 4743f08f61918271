"""Records by content: what ran once under one key need not run again.

A key names everything that the value depends on. A cache that cannot be trusted or used is no cache; it never stops a judgement, and it is
never asked whether a lease has expired.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import msgspec

from trivet import __version__
from trivet.store import Store, trusted

_T = TypeVar("_T")


def _silent(_line: str) -> None:
    return None


def key_of(facts: Mapping[str, object]) -> str:
    """The SHA-256 of facts in canonical JSON."""
    return hashlib.sha256(msgspec.json.encode(facts, order="sorted")).hexdigest()


@lru_cache(maxsize=1)
def build_digest() -> str:
    """What of trivet itself a record depends on: its version and the bytes of all its modules."""
    digest = hashlib.sha256(__version__.encode())
    root = Path(__file__).resolve().parent.parent
    for file in sorted(root.rglob("*.py")):
        with contextlib.suppress(OSError):
            digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


class Cache:
    """Values by kind and key, for one judgement.

    Args:
        folder: where they are kept; None keeps nothing. It must belong to this user and be closed to others.
        say: is told one line when the cache cannot be used.
        now: the door's clock reading, for people who look at the cache.
        audit: find nothing, but keep what is put: the judgement shall be made anew.
    """

    def __init__(
        self, folder: Path | None, *, say: Callable[[str], object] = _silent, now: float = 0.0, audit: bool = False
    ) -> None:
        self.store = Store(folder, say) if folder is not None and trusted(folder, say) else None
        self.family = ""
        self._now = now
        self._audit = audit

    def bind(self, family: str) -> None:
        """What is kept from here on belongs to this family: one base in one environment, which are right or wrong together."""
        self.family = family

    def get(self, kind: str, key: str, as_: type[_T]) -> _T | None:
        """The value, or None where there is none that can be read whole."""
        found = self.store.get(kind, key) if self.store is not None and not self._audit else None
        if found is None:
            return None
        try:
            return msgspec.json.decode(found[1], type=as_)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None

    def put(self, kind: str, key: str, value: object) -> None:
        """Keep a value; a full or unwritable disk is no error."""
        if self.store is None:
            return
        try:
            data = msgspec.json.encode(value)
        except (TypeError, ValueError):
            return
        self.store.put(kind, key, data, family=self.family, made=self._now)
