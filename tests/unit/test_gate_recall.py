"""What of a decision may be answered from the cache: nothing in which a clock had a say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from trivet.gate import _recall_facts

CHANGES: list[dict[str, Any]] = [
    {"leases": ("a lease",)},
    {"drifts": ("a bad row",)},
    {"clock": "real"},
    {"review": "review.json"},
    {"store": None},
]


def lasting(*, leases: tuple[str, ...] = (), drifts: tuple[str, ...] = (), clock: str = "2026-09-22", review: object = None, store: object = "db") -> object:
    situation = SimpleNamespace(ledger=SimpleNamespace(leases=leases, drifts=drifts), policy=SimpleNamespace(score=SimpleNamespace(clock=clock)))
    run = SimpleNamespace(cache=SimpleNamespace(store=store, family="f"), python="python")
    facts: Any = _recall_facts(SimpleNamespace(review=review), situation, run)  # type: ignore[arg-type]
    return facts["lasting"]


def test_a_decision_without_leases_under_a_frozen_clock_lasts() -> None:
    assert lasting()


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_no_lease_clock_or_review_is_ever_answered_from_the_cache(change: dict[str, Any]) -> None:
    assert not lasting(**change)
