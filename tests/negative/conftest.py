"""One cache of what base says for all cases of a test session, whatever worker judges them."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def case_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the gate's records, shared by the workers of this session and by no other."""
    base = tmp_path_factory.getbasetemp()
    worker = base.name.startswith("popen-")
    folder = (base.parent if worker else base) / "case-cache"
    folder.mkdir(exist_ok=True)
    return folder
