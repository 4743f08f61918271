"""Everybody can use the dashboard: names, headings, contrast in light and dark, narrow screens, the keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from accessible import problems, walk_by_keyboard
from browsing import shoot, sign_in
from needs import needs

pytestmark = [pytest.mark.browser, needs("chromium", "chromium")]
PLACES = ("/", "/?repo=alpha", "/scores", "/scores?head=ffff", "BLOCKED", "LIVE", "/leases", "/flaky", "/owners", "/settings", "/scores/none")
LIVE = f"/scores/{201:024x}"
BLOCKED = f"/scores/{190:024x}"


def place_of(name: str) -> str:
    return {"BLOCKED": BLOCKED, "LIVE": LIVE}.get(name, name)


@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 1280), (False, 320), (True, 390)], ids=["light", "dark", "narrow", "phone-dark"])
def test_no_page_has_a_barrier(seeded, visit, dark, width) -> None:
    page = visit(dark=dark, width=width, allowed=("status of 404", "status of 400"))
    page.goto(f"{seeded.url}/login")
    found = {"/login": problems(page)}
    shoot(page, f"login-{'dark' if dark else 'light'}-{width}")
    sign_in(page, seeded)
    for name in PLACES:
        page.goto(seeded.url + place_of(name))
        page.evaluate("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
        found[name] = problems(page)
        shoot(page, f"{name.strip('/').replace('?', '-').replace('/', '-').replace('=', '-').lower() or 'overview'}-{'dark' if dark else 'light'}-{width}")
    assert not {name: rows for name, rows in found.items() if rows}


def test_the_checks_can_fail(seeded, visit) -> None:
    page = visit()
    page.goto(f"{seeded.url}/login")
    assert problems(page) == []
    page.evaluate(
        """() => {
          document.querySelector("main").insertAdjacentHTML("beforeend",
            "<h4>x</h4><a href='/'></a><table><tr><th>x</th></tr></table><input name='x'><svg></svg><p class='pale'>pale</p><p id='problem'></p><p id='problem'></p>");
          document.querySelector(".pale").style.color = "#aaa";
        }"""
    )
    told = " ".join(problems(page))
    for word in ("heading skips", "without a name: link", "table without caption", "field without label", "picture without words", "contrast 2", "id twice"):
        assert word in told


def test_the_keyboard_reaches_everything_and_shows_where_it_is(seeded, visit) -> None:
    page = visit()
    sign_in(page, seeded, to="/scores?word=blocked")
    page.reload()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.reload()
    reached, unseen = walk_by_keyboard(page)
    assert unseen == []
    wanted = page.locator("a[href], button, select, input:not([type=hidden])").filter(visible=True).count()
    assert len([words for words in reached if not words.startswith("DIV")]) == wanted
