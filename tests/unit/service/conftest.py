"""A fresh store for each test: a copy of one that was migrated once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from trivet.service import schema
from trivet.service.store import Store, open_store, sync_repositories


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("store") / "store.db"
    made = open_store(f"sqlite:///{file}")
    schema.migrate(made)
    sync_repositories(made, ("alpha", "beta"), 1000.0)
    with made.write() as c:
        c.exec_driver_sql("COMMIT")
        c.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        c.exec_driver_sql("BEGIN")
    made.close()
    return file


@pytest.fixture
def store(migrated: Path, tmp_path: Path) -> Iterator[Store]:
    shutil.copy(migrated, tmp_path / "store.db")
    made = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    yield made
    made.close()
