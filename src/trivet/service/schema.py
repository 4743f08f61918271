"""The store's schema: where it stands, and bringing it up or down with alembic."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from trivet.errors import StoreError
from trivet.service.store import Store

_KEY = 7_261_145  # of the advisory lock under which PostgreSQL lets one process migrate


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config


def newest() -> str:
    """The revision that this version of trivet works with."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    if head is None:
        raise StoreError("this installation has no migrations", hint="install trivet again")
    return head


def current(store: Store) -> str | None:
    """The revision of the store; None for an empty one."""
    with store.read() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def migrate(store: Store, revision: str = "head") -> str | None:
    """Bring the store to a revision, up or down, in one transaction; several processes may call it at once.

    Returns:
        The revision it is at now.

    Raises:
        StoreError: the revision is unknown, or the database refuses.
    """
    config = _config()
    try:
        known = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]  # newest first
        with store.write() as connection:
            if not store.embedded:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _KEY})
            at = MigrationContext.configure(connection).get_current_revision()
            wanted = known[0] if revision == "head" else None if revision == "base" else revision
            if at not in (None, *known) or wanted not in (None, *known):
                raise StoreError(
                    f"unknown revision {at if at not in (None, *known) else wanted!r}", hint="use the newer trivet that made it"
                )
            config.attributes["connection"] = connection
            if _place(known, wanted) > _place(known, at):
                command.upgrade(config, revision)
            elif wanted != at:
                command.downgrade(config, revision)
    except SQLAlchemyError as error:
        raise StoreError(f"the migration failed: {error}"[:500]) from error
    return current(store)


def _place(known: list[str], revision: str | None) -> int:
    return -1 if revision is None else len(known) - known.index(revision)


def check(store: Store) -> None:
    """See that the store answers and is at the revision that this version works with.

    Raises:
        StoreError: it does not, or is not.
    """
    at = current(store)
    if at != newest():
        raise StoreError(f"the store is at revision {at}, this version needs {newest()}", hint="run `trivet store migrate`")
