"""The audit log: who asked what, from where, and whether it was granted."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from sqlalchemy import insert

from trivet.service import tables as t
from trivet.service.store import Store

_MOST_WAITING = 50_000


class Audit:
    """Collects rows and writes them in batches: an answer from the cache must not wait for a disk.

    What changes something is written at once (``now=True``). A process that is killed may lose half a second of questions.
    """

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._waiting: deque[dict[str, object]] = deque(maxlen=_MOST_WAITING)
        self._lock = threading.Lock()

    def add(
        self, who: str, what: str, *, repo: str = "", target: str = "", address: str = "", outcome: str = "granted", at_once: bool = False
    ) -> None:
        """Add a row; texts are cut to the widths of the table."""
        row = {"at": self._clock(), "who": who[:200] or "nobody", "what": what[:60], "repo": repo[:200], "target": target[:300]}
        self._waiting.append({**row, "address": address[:64], "outcome": outcome[:20]})
        if at_once:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        with self._lock:
            rows = [self._waiting.popleft() for _ in range(len(self._waiting))]
            if rows:
                with self._store.write() as c:
                    c.execute(insert(t.audit), rows)
