"""Durable jobs on DBOS: a score survives whatever is killed, and each step is done once with effect.

One workflow for a score, its id is the score's. On SQLite one process judges; on PostgreSQL any number of workers on any number of
machines. The queue is partitioned by repository and partitions are served in random order: a repository with a thousand waiting scores
delays another's first one by no more than what is running.

A worker holds a session lock of PostgreSQL under its name for as long as it lives. Where the lock is free, its owner is dead, and what it
had begun goes back into the queue.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

import msgspec
from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer, EnqueueOptions
from dbos import error as engine_error
from sqlalchemy.exc import SQLAlchemyError

from trivet.errors import StoreError, TrivetError
from trivet.forge.words import Event
from trivet.service import logs, reading, retention
from trivet.service.alive import Alive
from trivet.service.forging import Forging, ref_of
from trivet.service.mirrors import RefusedError
from trivet.service.rows import ScoreRow
from trivet.service.settings import Settings
from trivet.service.steps import Steps
from trivet.service.store import DAY_S
from trivet.service.worker import StoppedError

NAME = "trivet"
QUEUE = "scores"
WORKFLOW = "trivet.score"
LOOK = "trivet.look"
LOOKS = "looks"
Look = Callable[[str, str, str], str]
"""Looks at a change: (repository, event as JSON, source) to the id of its score."""
VERSION = "1"
"""Of the steps and their order, not of trivet: a newer trivet goes on with what an older one began."""
_RECOVERIES = 20
_SWEEP_S = 5.0
_FIRST_PRUNE_S = 3600.0
_quiet = logging.getLogger("dbos")
_quiet.setLevel(logging.ERROR)  # it announces a hosted console
_steps: list[Steps] = []
_looks: list[Look] = []


def _the() -> Steps:
    return _steps[-1]


@DBOS.step(name="accept")
def _accept(identity: str) -> bool:
    return _the().accept(identity)


def _worth_trying_again(error: BaseException) -> bool:
    return not isinstance(error, (RefusedError, StoppedError))


@DBOS.step(name="fetch", retries_allowed=True, max_attempts=3, interval_seconds=2, should_retry=_worth_trying_again)
def _fetch(identity: str) -> None:
    _the().fetch(identity)


@DBOS.step(name="score", retries_allowed=True, max_attempts=2, interval_seconds=1, should_retry=_worth_trying_again)
def _score(identity: str) -> int:
    return _the().judge(identity)


@DBOS.step(name="join")
def _join(identity: str) -> None:
    _the().join(identity)


@DBOS.step(name="sign")
def _sign(identity: str) -> None:
    _the().sign(identity)


@DBOS.step(name="publish", retries_allowed=True, max_attempts=8, interval_seconds=2, backoff_rate=2)
def _publish(identity: str) -> None:
    _the().publish(identity)


@DBOS.step(name="finish")
def _finish(identity: str) -> None:
    _the().finish(identity)


@DBOS.step(name="fail")
def _fail(identity: str, problem: str) -> None:
    _the().fail(identity, problem)


@DBOS.workflow(name=WORKFLOW, max_recovery_attempts=_RECOVERIES)
def _judge(identity: str) -> None:
    try:
        if not _accept(identity):
            return
        _fetch(identity)
        _score(identity)
        _join(identity)
        _sign(identity)
        _publish(identity)
        _finish(identity)
    except Exception as error:  # noqa: BLE001 - whatever it was, the score ends, and ends red
        _fail(identity, _told(error))


@DBOS.step(name="look", retries_allowed=True, max_attempts=6, interval_seconds=2, backoff_rate=2, should_retry=_worth_trying_again)
def _look_now(repo: str, event: str, source: str) -> str:
    return _looks[-1](repo, event, source)


@DBOS.workflow(name=LOOK, max_recovery_attempts=_RECOVERIES)
def _look(repo: str, event: str, source: str) -> str:
    try:
        return _look_now(repo, event, source)
    except Exception as error:  # noqa: BLE001 - the poll comes by again
        logs.log().warning("look", repo=repo, problem=_told(error))
        return ""


def _told(error: BaseException) -> str:
    if isinstance(error, engine_error.DBOSMaxStepRetriesExceeded):
        errors = getattr(error, "errors", None)
        return _told(errors[-1]) if errors else str(error)
    if isinstance(error, TrivetError):
        parts = (error.message, f"({error.where})" if error.where else "", error.hint)
        return logs.without_secrets(" ".join(part for part in parts if part))
    return logs.without_secrets(f"{type(error).__name__}: {error}"[:500])


class Client:
    """The queue as seen from a process that may or may not judge: it puts in and takes out."""

    def __init__(self, settings: Settings) -> None:
        self._url = settings.jobs_url
        self._client: DBOSClient | None = None
        self._guard = threading.Lock()

    def _connected(self) -> DBOSClient:
        with self._guard:
            if self._client is None:
                self._client = DBOSClient(
                    system_database_url=self._url,
                    serializer=DBOSPortableJSONSerializer(),
                    application_name=NAME,
                    retry_connection_errors=False,
                )
            return self._client

    def prepare(self) -> None:
        """Make the engine's tables, for a process that takes questions before any worker has begun.

        Raises:
            StoreError: its database does not answer.
        """
        try:
            DBOS.migrate(self._url)
        except (engine_error.DBOSException, SQLAlchemyError, OSError) as error:
            raise StoreError(f"the job engine's tables cannot be made: {type(error).__name__}") from error

    def enqueue(self, score: ScoreRow, *, priority: int) -> None:
        """Have a score judged; the same score twice is one job.

        Raises:
            StoreError: the engine's database does not answer; the score stays queued and is taken up by ``Engine.sweep``.
        """
        options: EnqueueOptions = {
            "workflow_name": WORKFLOW,
            "queue_name": QUEUE,
            "workflow_id": score.id,
            "priority": priority,
            "queue_partition_key": score.repo,
            "app_version": VERSION,
        }
        try:
            self._connected().enqueue(options, score.id)
        except (engine_error.DBOSException, SQLAlchemyError) as error:
            raise StoreError(f"the job engine does not answer: {type(error).__name__}") from error

    def cancel(self, identity: str) -> None:
        """Take a score out of the queue; what runs for it sees by itself that nobody wants it."""
        with suppress(engine_error.DBOSException, SQLAlchemyError):
            self._connected().cancel_workflow(identity)

    def look(self, key: str, repo: str, event: Event, *, source: str = "webhook") -> None:
        """Have a change looked at; the same key twice is one job.

        Raises:
            StoreError: the engine's database does not answer; the forge delivers again, or the poll finds it.
        """
        options: EnqueueOptions = {"workflow_name": LOOK, "queue_name": LOOKS, "workflow_id": f"look:{key}", "app_version": VERSION}
        try:
            self._connected().enqueue(options, repo, msgspec.json.encode(event).decode(), source)
        except (engine_error.DBOSException, SQLAlchemyError) as error:
            raise StoreError(f"the job engine does not answer: {type(error).__name__}") from error

    def ready(self) -> bool:
        """Whether the engine's database answers."""
        try:
            self._connected().check_connection()
        except (engine_error.DBOSException, SQLAlchemyError):
            return False
        return True

    def statuses(self, identities: Iterable[str]) -> dict[str, str]:
        """What the engine says about scores; those it does not know are left out."""
        found = self._connected().list_workflows(workflow_ids=list(identities), load_input=False, load_output=False)
        return {row.workflow_id: str(row.status) for row in found}

    def forget(self, identities: list[str]) -> None:
        """Remove ended jobs."""
        with suppress(engine_error.DBOSException, SQLAlchemyError):
            self._connected().delete_workflows(identities)

    def close(self) -> None:
        """Give the connections back."""
        if self._client is not None:
            self._client.destroy()
            self._client = None


class Engine:
    """A process that judges: launches DBOS, holds the lock that says that it lives, and looks after what others left."""

    def __init__(self, settings: Settings, steps: Steps, forging: Forging, *, name: str) -> None:
        self._settings = settings
        self._alive = Alive(steps.store, settings.store.data, name)
        self.client = Client(settings)
        self._stop = threading.Event()
        self._keeper: threading.Thread | None = None
        self._prune_at = steps.clock() + _FIRST_PRUNE_S
        self.name = "local" if steps.store.embedded else name
        self.jobs: Client = self.client
        self.store, self.clock = steps.store, steps.clock
        self._forging = forging
        self._polled: dict[str, float] = {}
        _steps.append(steps)
        _looks.append(self._look)

    def launch(self) -> None:
        """Begin to take jobs; the engine's tables are made or brought up to date first.

        Raises:
            StoreError: its database does not answer, or another worker has this name.
        """
        self._alive.hold()
        worker = self._settings.worker
        config: DBOSConfig = {
            "name": NAME,
            "system_database_url": self._settings.jobs_url,
            "application_version": VERSION,
            "executor_id": self.name,
            "log_level": "ERROR",
            "console_log_level": "ERROR",
            "serializer": DBOSPortableJSONSerializer(),
            "max_executor_threads": worker.slots + 8,
        }
        try:
            DBOS(config=config)
            DBOS.launch()
            DBOS.register_queue(LOOKS, worker_concurrency=4, polling_interval_sec=worker.poll_s, on_conflict="always_update")
            DBOS.register_queue(
                QUEUE,
                worker_concurrency=worker.slots,
                partition_worker_concurrency=min(worker.per_repository, worker.slots),
                polling_interval_sec=worker.poll_s,
                on_conflict="always_update",
            )
        except (engine_error.DBOSException, SQLAlchemyError) as error:
            raise StoreError(f"the job engine cannot start: {type(error).__name__}") from error
        self._keeper = threading.Thread(target=self._keep, name="trivet-keeper", daemon=True)
        self._keeper.start()

    def _keep(self) -> None:
        while True:
            try:
                self._alive.hold()
                self.sweep()
                self._poll()
                if _the().clock() >= self._prune_at:
                    self._prune()
            except Exception as error:  # noqa: BLE001 - the next round tries again
                logs.log().warning("sweep", problem=_told(error))
            if self._stop.wait(_SWEEP_S):
                return

    def _look(self, repo_name: str, text: str, source: str) -> str:
        repo = self._settings.repository(repo_name)
        if repo is None:
            return ""
        event = msgspec.json.decode(text, type=Event)
        if event.kind in ("closed", "queue-gone"):
            ref = f"pull/{event.number}" if event.subject is None else ref_of(event.subject)
            self._forging.close(self, repo, ref)
            return ""
        return self._forging.look(self, _the().mirrors, repo, number=event.number, queued=event.subject, source=source)

    def _poll(self) -> None:
        """Look at what webhooks did not tell: forges do not deliver again by themselves. One worker in each span of time does it."""
        now = self.clock()
        for repo in self._settings.repositories:
            table = {"github": self._settings.forges.github, "gitlab": self._settings.forges.gitlab}.get(repo.forge)
            if table is None or now - self._polled.get(repo.name, 0.0) < table.reconcile_s:
                continue
            self._polled[repo.name] = now
            try:
                subjects = self._forging.unsettled(repo)
            except TrivetError as error:
                logs.log().warning("poll", repo=repo.name, problem=_told(error))
                continue
            for subject in subjects:
                event = Event(kind="change", delivery="", repository=repo.forge_name, number=subject.number)
                span = int(now // table.reconcile_s)
                self.client.look(f"poll:{repo.name}:{subject.number}:{subject.head}:{span}", repo.name, event, source="reconcile")

    def _prune(self) -> None:
        steps = _the()
        self._prune_at = steps.clock() + DAY_S
        gone = retention.prune(steps.store, self._settings.store, steps.clock())
        if gone.identities:
            self.client.forget(list(gone.identities))

    def sweep(self) -> int:
        """Look after every open score: put in what never reached the engine, take up what dead workers left, end what the engine gave up.

        Returns:
            How many scores were touched.
        """
        steps = _the()
        rows = reading.queue(steps.store)
        touched = self._take_up()
        known = self.client.statuses(row.id for row in rows) if rows else {}
        for row in rows:
            status = known.get(row.id)
            if status is None:
                self.client.enqueue(row, priority=10)
                touched += 1
            elif status in ("ERROR", "SUCCESS", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"):
                # Asked again: it may have ended between the two questions.
                steps.fail(row.id, f"the job ended as {status}")
                touched += 1
        return touched

    def _take_up(self) -> int:
        if _the().store.embedded:
            return 0
        pending = DBOS.list_workflows(status="PENDING", name=WORKFLOW, load_input=False, load_output=False)
        taken = 0
        for other in sorted({row.executor_id for row in pending if row.executor_id and row.executor_id != self.name}):
            with self._alive.dead(other) as dead:
                if dead:
                    # The engine's own way back into the queue; it is public only as a service of its vendor.
                    taken += len(DBOS._recover_pending_workflows([other]))  # noqa: SLF001
        return taken

    def drain(self, seconds: float) -> None:
        """Take no new jobs, give what runs ``seconds`` to end, then leave the rest to be resumed by another worker or the next start."""
        self._stop.set()
        DBOS.destroy(workflow_completion_timeout_sec=max(0, int(seconds)))
        _the().worker.leave()
        self.client.close()
        self._alive.release()
