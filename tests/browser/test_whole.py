"""The whole way: a service as a process, a head asked for by the client, followed in the browser until it is decided."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browsing import shoot
from needs import needs
from service_process import Place
from trivet.client import Client

pytestmark = [pytest.mark.browser, needs("chromium", "chromium")]


def test_a_run_is_followed_from_asking_to_its_decision(tmp_path, visit) -> None:
    place = Place(tmp_path, heads=20, wait=2.0)
    running, address = place.serve()
    try:
        token = place.token()
        blocked = next(head for head in place.heads if head[-1] in "abcd")
        page = visit()
        page.goto(f"{address}/")
        page.get_by_label("Access token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="Nothing has been judged yet")).to_be_visible()
        with Client(address, token=token) as client:
            score = client.submit("alpha", base=place.base, head=blocked)
        page.goto(score.page)
        expect(page.locator(".banner-running")).to_be_visible(timeout=30_000)
        expect(page.locator(".step-now")).to_be_visible()
        shoot(page, "whole-live")
        expect(page.locator(".verdict")).to_have_text("MERGE_BLOCKED", timeout=60_000)
        expect(page.locator(".rule h4")).to_contain_text("sealed property does not hold")
        expect(page.locator(".rule .next")).to_contain_text("Fix the production code")
        page.get_by_role("link", name="Overview", exact=True).first.click()
        expect(page.locator(".word-blocked").first).to_be_visible()
    finally:
        assert running.stop() == 0, running.said
