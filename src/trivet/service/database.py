"""The store's engine: SQLite in a file of this machine, or PostgreSQL by URL. What is in it, see ``tables`` and ``store``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry

from trivet.errors import StoreError

_BUSY_S = 30


class Store:
    """An open store; threads share it. Close it when done."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @property
    def embedded(self) -> bool:
        """Whether it is a file of this machine (SQLite)."""
        return self.engine.dialect.name == "sqlite"

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection to read with.

        Raises:
            StoreError: the database does not answer.
        """
        try:
            with self.engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise _wrapped(error) from error

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction to write with; committed at the end, rolled back on any error.

        Raises:
            StoreError: the database does not answer or refuses.
        """
        try:
            with self.engine.connect().execution_options(trivet_write=True) as connection, connection.begin():
                yield connection
        except IntegrityError:
            raise
        except SQLAlchemyError as error:
            raise _wrapped(error) from error

    def upsert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        """An insert that knows ``on_conflict_do_nothing`` and ``on_conflict_do_update``."""
        return sqlite.insert(table) if self.embedded else postgresql.insert(table)


def open_store(url: str, *, connections: int = 10) -> Store:
    """Open a store.

    Args:
        url: ``sqlite:///FILE`` or ``postgresql+psycopg://…``.
        connections: how many may be open at once (PostgreSQL).

    Raises:
        StoreError: the URL is neither, or the folder of the file cannot be made.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise StoreError("this is no database URL", hint="write sqlite:///FILE or postgresql+psycopg://HOST/NAME") from error
    if parsed.get_backend_name() == "sqlite":
        return Store(_sqlite(parsed))
    if parsed.get_backend_name() != "postgresql":
        raise StoreError(f"no store on {parsed.get_backend_name()!r}", hint="use sqlite or postgresql")
    engine = create_engine(
        parsed.set(drivername="postgresql+psycopg"),
        pool_pre_ping=True,
        pool_size=connections,
        max_overflow=connections,
        pool_timeout=_BUSY_S,
    )
    return Store(engine)


def _sqlite(url: URL) -> Engine:
    if url.database in (None, "", ":memory:"):
        raise StoreError("a store in memory loses every verdict", hint="write sqlite:///FILE")
    file = Path(str(url.database))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the folder of the store cannot be made: {error.strerror}", where=str(file.parent)) from error
    engine = create_engine(url, connect_args={"timeout": _BUSY_S, "isolation_level": None})

    @event.listens_for(engine, "connect")
    def _prepare(connection: object, _: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()  # type: ignore[attr-defined]
        for word in ("journal_mode=WAL", "foreign_keys=ON", "synchronous=FULL", f"busy_timeout={_BUSY_S * 1000}", "cache_size=-65536"):
            cursor.execute(f"PRAGMA {word}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A transaction that reads first and then wants to write is refused at once when another one wrote in between.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("trivet_write") else "BEGIN")

    return engine


def _wrapped(error: SQLAlchemyError) -> StoreError:
    # The text of a driver's error may hold values of the statement; its kind is enough.
    return StoreError(f"the store does not answer: {type(getattr(error, 'orig', None) or error).__name__}", hint="see `trivet store check`")
