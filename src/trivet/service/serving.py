"""A running service: everything put together, started, and stopped without losing anything."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn
from litestar import Litestar

from trivet.errors import ServiceError
from trivet.service import api, logs, pages, schema
from trivet.service.access import Access
from trivet.service.app import create_app
from trivet.service.auditing import Audit
from trivet.service.desk import Desk
from trivet.service.forging import Forging, maker
from trivet.service.jobs import Client, Engine
from trivet.service.mirrors import Mirrors
from trivet.service.oidc import CiTokens
from trivet.service.patient import patient_protocol
from trivet.service.settings import Settings
from trivet.service.steps import Steps
from trivet.service.store import Store, open_store, sync_repositories
from trivet.service.worker import Worker

clock: Callable[[], float] = time.time  # noqa: TID251 - a service outlives one reading


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a process of the service holds."""

    settings: Settings
    store: Store


def prepare(settings: Settings) -> Parts:
    """Open the store, bring it up to date, and make its repositories known.

    Raises:
        StoreError: the store does not answer.
        ServiceError: a secret or folder is not usable.
    """
    folder = settings.store.data
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ServiceError(f"the folder cannot be made: {error.strerror}", where=str(folder)) from error
    store = open_store(settings.store_url)
    schema.migrate(store)
    sync_repositories(store, settings.names, clock())
    return Parts(settings=settings, store=store)


def engine_of(parts: Parts, *, name: str = "") -> Engine:
    """What judges in this process."""
    settings, store = parts.settings, parts.store
    folder = settings.store.data
    forging = Forging(settings=settings, store=store, make=maker(settings))
    steps = Steps(
        settings=settings,
        store=store,
        clock=clock,
        mirrors=Mirrors(folder=folder / "mirrors", limits=settings.fetch, memory_b=settings.worker.memory_b),
        worker=Worker(settings=settings.worker, data=folder),
        publisher=forging,
    )
    chosen = name or settings.worker.name or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
    return Engine(settings, steps, forging, name=chosen)


def application(parts: Parts, client: Client, draining: Callable[[], bool]) -> tuple[Litestar, Desk]:
    """The application and its desk."""
    ci = CiTokens(settings=parts.settings, clock=clock)
    access = Access(store=parts.store, settings=parts.settings, clock=clock, ci_token=ci.read)
    desk = Desk(
        settings=parts.settings,
        store=parts.store,
        clock=clock,
        access=access,
        audit=Audit(parts.store, clock),
        jobs=client,
        draining=draining,
    )
    return create_app(desk, routes=[*api.routes(), *pages.routes()]), desk


def serve(settings: Settings, *, ready: Callable[[str], None] = lambda _: None) -> int:
    """Serve until SIGTERM or SIGINT, then drain: no new work, what runs may end, the rest is resumed at the next start.

    Args:
        settings: of the service.
        ready: called with the address as soon as it listens.
    """
    logs.configure()
    parts = prepare(settings)
    engine = engine_of(parts) if settings.worker.embedded else None
    if engine is not None:
        engine.launch()
    client = engine.client if engine is not None else Client(settings)
    if engine is None:
        client.prepare()
    stopping = threading.Event()
    app, _ = application(parts, client, stopping.is_set)
    server = _Server(_config(app, settings), stopping, ready)
    server.run()
    logs.log().info("stopping", drain_s=settings.server.drain_s)
    if engine is not None:
        engine.drain(settings.server.drain_s)
    parts.store.close()
    return 0


def work(settings: Settings, *, name: str = "", ready: Callable[[str], None] = lambda _: None) -> int:
    """Judge until SIGTERM or SIGINT, then drain."""
    logs.configure()
    stopping = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    parts = prepare(settings)
    engine = engine_of(parts, name=name)
    engine.launch()
    ready(engine.name)
    stopping.wait()
    logs.log().info("stopping", worker=engine.name, drain_s=settings.server.drain_s)
    engine.drain(settings.server.drain_s)
    parts.store.close()
    return 0


def leave(status: int) -> None:
    """End the process now. Threads that wait for runs which were given up must not be waited for."""
    logs.flush()
    os._exit(status)


def _config(app: Litestar, settings: Settings) -> uvicorn.Config:
    server = settings.server
    return uvicorn.Config(
        app,
        host=server.host,
        port=server.port,
        http=patient_protocol(server.request_timeout_s),
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=bool(server.trusted_proxies),
        forwarded_allow_ips=list(server.trusted_proxies),
        limit_concurrency=server.connections,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=10,
        h11_max_incomplete_event_size=65_536,
        ws="none",
    )


class _Server(uvicorn.Server):
    """Tells when it listens, and lets handlers know as soon as it is asked to stop."""

    def __init__(self, config: uvicorn.Config, stopping: threading.Event, ready: Callable[[str], None]) -> None:
        super().__init__(config)
        self._stopping = stopping
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals that ask to stop, and keep them: the drain that follows must not be cut short by the one that began it."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.handle_exit)
        yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._stopping.set()
        super().handle_exit(sig, frame)


def example(data: Path) -> str:
    """A ``service.toml`` to begin with."""
    return EXAMPLE.replace("DATA", str(data))


EXAMPLE = """\
schema = 1

[server]
host = "127.0.0.1"
port = 8321
# public_url = "https://trivet.example.org"

[store]
data = "DATA"
# url_file = "store.url"                  # PostgreSQL: a file (mode 0600) with postgresql+psycopg://USER:PASSWORD@HOST/NAME

[worker]
slots = 1                                 # scores that a worker judges at once

[[repositories]]
name = "project"                          # what requests call it
url = "https://git.example.org/team/project.git"
branches = ["main"]                       # a base must be a commit of one of these
# token_file = "project.token"            # to fetch with; mode 0600
# python = "/opt/envs/project/bin/python" # the project's interpreter, with its test requirements
feedback = "full"                         # what those who submit get to see: full, names, score or verdict
"""
