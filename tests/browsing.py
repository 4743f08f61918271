"""What browser tests share: a service to look at, signing in as a person would, pictures that are kept."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Page

from trivet.service.store import Store

SHOTS = Path(__file__).resolve().parents[1] / "build" / "screenshots"


@dataclass
class Site:
    """A service that listens on this machine, with its store and a token for each kind of reader."""

    url: str
    store: Store
    tokens: dict[str, str] = field(default_factory=dict)


def sign_in(page: Page, site: Site, who: str = "admin", to: str = "/") -> None:
    """Sign in as a person would, and be where one wanted to go."""
    page.goto(site.url + to)
    page.get_by_label("Access token").fill(site.tokens[who])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(site.url + to)


def shoot(page: Page, name: str) -> None:
    """Keep a picture of the whole page."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(SHOTS / f"{name}.png"), full_page=True)


def whole() -> bool:
    """Whether long proofs were asked for."""
    return os.environ.get("TRIVET_LONG") == "1"
