"""Metrics for Prometheus: what the store says of the queue and of decisions, and how this process answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from litestar.datastructures import State
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import func, select

from trivet.service import tables as t
from trivet.service.rows import OPEN
from trivet.service.store import Store

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The metrics of one process; each application has its own."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self.registry = CollectorRegistry()
        self._seconds = Histogram(
            "trivet_request_seconds",
            "Time to answer, by route and status.",
            ["route", "status"],
            buckets=(0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
            registry=self.registry,
        )
        self.registry.register(_FromStore(store, clock))

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count one answer; ``route`` is a template, not a path somebody made up."""
        self._seconds.labels(route, str(status)).observe(seconds)

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)


class _FromStore(Collector):
    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        days = t.verdict_days.c
        scores = t.scores.c
        open_scores = select(scores.state, func.count(), func.min(scores.queued_at)).where(scores.state.in_(OPEN)).group_by(scores.state)
        with self._store.read() as c:
            waiting = {state: (count, first) for state, count, first in c.execute(open_scores)}
            sums = c.execute(
                select(t.repositories.c.name, *(func.sum(days[word]) for word in ("merged", "blocked", "undecided", "seconds")))
                .join(t.verdict_days, days.repo_id == t.repositories.c.id)
                .group_by(t.repositories.c.name)
            ).all()
        queue = GaugeMetricFamily("trivet_scores_open", "Scores that have not ended, by state.", labels=["state"])
        for state in OPEN:
            queue.add_metric([state], waiting.get(state, (0, None))[0])
        yield queue
        oldest = min((first for _, first in waiting.values()), default=None)
        age = 0.0 if oldest is None else max(0.0, self._clock() - oldest)
        yield GaugeMetricFamily("trivet_oldest_open_seconds", "Age of the oldest score that has not ended.", value=age)
        decisions = CounterMetricFamily("trivet_decisions", "Decisions, by repository and word.", labels=["repository", "word"])
        seconds = CounterMetricFamily("trivet_judging_seconds", "Seconds of judging, by repository.", labels=["repository"])
        for name, merged, blocked, undecided, took in sums:
            for word, count in (("merge_ok", merged), ("merge_blocked", blocked), ("undecided", undecided)):
                decisions.add_metric([name, word], count)
            seconds.add_metric([name], took)
        yield decisions
        yield seconds


def counted(metrics: Metrics) -> type:
    """A middleware that counts answers and how long they took to begin."""

    class Counted:
        def __init__(self, app: ASGIApp) -> None:
            self.app = app

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != ScopeType.HTTP:
                await self.app(scope, receive, send)
                return
            began = time.perf_counter()

            async def sending(message: Message) -> None:
                if message["type"] == "http.response.start":
                    # A path that no handler has is of the caller's making: all of them are one.
                    handler = dict(scope).get("route_handler")
                    metrics.answered(
                        min(getattr(handler, "paths", ())) if handler else "none", message["status"], time.perf_counter() - began
                    )
                await send(message)

            await self.app(scope, receive, sending)

    return Counted


def of(state: State) -> Metrics:
    """The metrics of an application."""
    found: Metrics = state.metrics
    return found
