"""A fresh store for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from trivet.service import schema
from trivet.service.store import Store, open_store, sync_repositories


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    schema.migrate(made)
    sync_repositories(made, ("alpha", "beta"), 1000.0)
    yield made
    made.close()
