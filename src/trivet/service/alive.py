"""Who lives: a session lock of PostgreSQL for each worker, a lock on a file where one process judges on SQLite.

Both are let go by the system when their holder dies, however it dies; nothing has to be renewed, and no clock is asked.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from trivet.errors import StoreError
from trivet.service.store import Store

_KEY = 0x7472_6976  # the first half of our session locks' keys
_TRY, _RELEASE = "SELECT pg_try_advisory_lock(:a, hashtext(:b))", "SELECT pg_advisory_unlock(:a, hashtext(:b))"


class Alive:
    """The lock of one worker.

    Args:
        store: where the workers meet.
        folder: the service's folder; the lock of a store in a file lies there.
        name: of this worker.
    """

    def __init__(self, store: Store, folder: Path, name: str) -> None:
        self._store = store
        self._folder = folder
        self._name = name
        self._connection: Connection | None = None
        self._file: int | None = None

    def hold(self) -> None:
        """Hold the lock, again if the connection was lost.

        Raises:
            StoreError: another worker holds it, or the store does not answer.
        """
        if self._store.embedded:
            self._hold_file()
            return
        if self._connection is not None:
            try:
                self._connection.execute(text("SELECT 1"))
            except SQLAlchemyError:
                self._connection.invalidate()
                self._connection.close()
                self._connection = None
            else:
                return
        connection = _connected(self._store)
        if not connection.execute(text(_TRY), {"a": _KEY, "b": self._name}).scalar():
            connection.close()
            raise StoreError(f"another worker is called {self._name!r}", hint="give each worker its own name")
        self._connection = connection

    def _hold_file(self) -> None:
        if self._file is not None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        file = os.open(self._folder / "judging.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(file)
            raise StoreError(
                "another process judges on this store", where=str(self._folder), hint="several workers need PostgreSQL; see docs/service.md"
            ) from error
        self._file = file

    @contextmanager
    def dead(self, name: str) -> Iterator[bool]:
        """Whether the worker of that name is dead; if it is, it cannot come back within the ``with`` block."""
        connection = _connected(self._store)
        got = False
        try:
            got = bool(connection.execute(text(_TRY), {"a": _KEY, "b": name}).scalar())
            yield got
        finally:
            with suppress(SQLAlchemyError):
                if got:
                    connection.execute(text(_RELEASE), {"a": _KEY, "b": name})
            connection.close()

    def release(self) -> None:
        """Let go."""
        if self._connection is not None:
            with suppress(SQLAlchemyError):
                self._connection.execute(text(_RELEASE), {"a": _KEY, "b": self._name})
                self._connection.close()
            self._connection = None
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _connected(store: Store) -> Connection:
    try:
        return store.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    except SQLAlchemyError as error:
        raise StoreError(f"the store does not answer: {type(error).__name__}") from error
