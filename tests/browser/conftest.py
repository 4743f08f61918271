"""A browser and a service to look at. Screenshots are kept in build/screenshots, which git does not see."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

from browsing import Site
from needs import library
from service_seed import seed
from trivet.service import api, keyring, pages, schema
from trivet.service.access import Access
from trivet.service.app import create_app
from trivet.service.auditing import Audit
from trivet.service.desk import Desk
from trivet.service.settings import settings_of
from trivet.service.store import Store, open_store, sync_repositories

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")
REPOS = ("alpha", "beta")


@pytest.fixture(scope="session")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Site]]:
    """Starts services; ``fill`` puts something into the store before."""
    stops: list[Callable[[], None]] = []

    def start(fill: Callable[[Store], None] = lambda _: None, *, feedback: str = "full", public: bool = False) -> Site:
        folder = tmp_path_factory.mktemp("site")
        repos = [{"name": name, "url": f"https://forge.example/{name}.git", "feedback": feedback} for name in REPOS]
        data = {"schema": 1, "server": {"requests_per_minute": 100_000, "public": public}, "store": {"data": str(folder)}, "repositories": repos}
        settings = settings_of(data, folder)
        store = open_store(settings.store_url)
        schema.migrate(store)
        now = time.time()
        sync_repositories(store, REPOS, now)
        fill(store)
        tokens = {}
        for name, scopes, named in (("admin", ["admin"], ["*"]), ("reader", ["read"], ["alpha"]), ("agent", ["submit"], ["alpha"])):
            _, tokens[name] = keyring.new_token(store, name=name, scopes=scopes, repos=named, now=now, expires_at=now + 3600)
        desk = Desk(settings=settings, store=store, clock=time.time, access=Access(store=store, settings=settings, clock=time.time), audit=Audit(store, time.time))
        app = create_app(desk, routes=[*api.routes(), *pages.routes()])
        listening = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, ws="none", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        until = time.monotonic() + 30
        while not server.started:
            assert time.monotonic() < until, "the service does not start"
            time.sleep(0.01)

        def stop() -> None:
            server.should_exit = True
            thread.join(20)
            listening.close()
            store.close()

        stops.append(stop)
        return Site(url=f"http://127.0.0.1:{listening.getsockname()[1]}", store=store, tokens=tokens)

    yield start
    for stop in stops:
        stop()


@pytest.fixture(scope="session")
def seeded(sites: Callable[..., Site]) -> Site:
    """A service with 200 runs, three open ones, leases, owners and flaky tests."""
    return sites(lambda store: seed(store, scores=200, repos=REPOS, now=time.time()))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    library("libatomic.so.1", "libatomic1")  # playwright's own program needs it
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        yield made
        made.close()


@dataclass
class Seen:
    """What went wrong in a page: errors of scripts, refused resources, breaches of the security policy."""

    problems: list[str] = field(default_factory=list)
    allowed: tuple[str, ...] = ()

    def unexpected(self) -> list[str]:
        return [text for text in self.problems if not any(part in text for part in self.allowed)]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page with a session of its own; at the end nothing may have gone wrong in it."""
    opened = []

    def visiting(*, dark: bool = False, width: int = 1280, scripts: bool = True, allowed: tuple[str, ...] = ()) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light", java_script_enabled=scripts)
        page = context.new_page()
        page.set_default_timeout(20_000)
        seen = Seen(allowed=allowed)
        page.on("console", lambda message: seen.problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: seen.problems.append(str(error)))
        opened.append((context, seen))
        return page

    yield visiting
    for context, _ in opened:
        context.close()
    assert not [text for _, seen in opened for text in seen.unexpected()]
