"""What every handler needs, in one value: settings, store, clock, who may what, the job engine and the audit log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from trivet.forge.words import Event
from trivet.service.access import Access
from trivet.service.auditing import Audit
from trivet.service.rows import ScoreRow
from trivet.service.settings import Settings
from trivet.service.store import Store


class Jobs(Protocol):
    """The job engine, as handlers see it. What is enqueued survives this process."""

    def enqueue(self, score: ScoreRow, *, priority: int) -> None:
        """Have a score judged; a second call for the same score changes nothing."""

    def cancel(self, identity: str) -> None:
        """Have a score not judged any more; what runs for it is ended."""

    def look(self, key: str, repo: str, event: Event) -> None:
        """Have a change looked at, as a delivery of a forge wants it; a second call with the same key changes nothing."""

    def ready(self) -> bool:
        """Whether jobs are taken."""


class NoJobs:
    """An engine that takes nothing: for pages and answers alone."""

    def enqueue(self, score: ScoreRow, *, priority: int) -> None:
        """Leave it in the queue."""

    def cancel(self, identity: str) -> None:
        """Nothing runs."""

    def look(self, key: str, repo: str, event: Event) -> None:
        """Nobody looks."""

    def ready(self) -> bool:
        """It never fails."""
        return True


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What every handler needs; it is ``app.state.desk``."""

    settings: Settings
    store: Store
    clock: Callable[[], float]
    access: Access
    audit: Audit
    jobs: Jobs = field(default_factory=NoJobs)
    draining: Callable[[], bool] = lambda: False
