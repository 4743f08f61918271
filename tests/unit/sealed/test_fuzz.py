"""A small share of benchmarks/fuzz_ledger.py: ledgers and manifests against an independent reference reading."""

from __future__ import annotations

import importlib.util
import os
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest

FUZZ = Path(__file__).resolve().parents[3] / "benchmarks" / "fuzz_ledger.py"


@pytest.fixture(scope="module")
def fuzz_ledger() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_ledger", FUZZ)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_ledger"] = module
    spec.loader.exec_module(module)
    return module


def test_nothing_is_granted_that_the_reference_would_refuse(fuzz_ledger: ModuleType) -> None:
    count = 100_000 if os.environ.get("TRIVET_LONG") else 1_500
    result = fuzz_ledger.fuzz(count, seed=20260922)
    assert not result.wrong
    assert result.granted > count // 20
    assert result.accepted > count // 20


def test_the_fuzz_can_fail(fuzz_ledger: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that grants a row which the reference refuses is found."""
    monkeypatch.setattr(fuzz_ledger, "reference_leases", lambda _data: set())
    result = fuzz_ledger.Result()
    for number in range(40):
        fuzz_ledger.check_ledger(random.Random(number), result)
    assert result.wrong
