"""The dashboard as people meet it: first run, sign-in and refusal, a blocked run, leases, lists, with and without JavaScript."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import expect

from browsing import shoot, sign_in
from needs import needs
from service_seed import seed
from trivet.service import keyring
from trivet.service.store import Ask as AskFor
from trivet.service.store import Decided, ask, decide, end, finish, keep_evidence, move, note

pytestmark = [pytest.mark.browser, needs("chromium", "chromium")]
REFUSED = ("status of 403", "status of 404", "status of 401")


def test_a_first_run_says_what_to_do_next(sites, visit) -> None:
    site = sites()
    page = visit()
    sign_in(page, site)
    expect(page.get_by_role("heading", name="Nothing has been judged yet")).to_be_visible()
    expect(page.locator("pre")).to_contain_text(f"trivet submit --server {site.url} --project alpha")
    shoot(page, "first-run")
    for place, title in (("leases", "No leases"), ("flaky", "No flaky tests seen"), ("owners", "No owners known"), ("scores", "No runs here")):
        page.goto(f"{site.url}/{place}")
        expect(page.get_by_role("heading", name=title)).to_be_visible()


def test_who_is_not_known_signs_in_and_comes_back_to_where_he_wanted(seeded, visit) -> None:
    page = visit(allowed=REFUSED)
    page.goto(f"{seeded.url}/leases?repo=alpha")
    expect(page).to_have_url(re.compile(r"/login\?to="))
    page.get_by_label("Access token").fill("trv_nonsense")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_have_text(re.compile("not known, has ended or was revoked"))
    shoot(page, "refused-token")
    page.get_by_label("Access token").fill(seeded.tokens["agent"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("may not read")
    page.get_by_label("Access token").fill(seeded.tokens["reader"])
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{seeded.url}/leases?repo=alpha")
    cookie = next(cookie for cookie in page.context.cookies() if cookie["name"] == "trivet_session")
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Lax")
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(f"{seeded.url}/login")
    page.goto(f"{seeded.url}/")
    expect(page).to_have_url(re.compile(r"/login\?to="))


def test_what_a_token_may_not_see_is_not_there(seeded, visit) -> None:
    page = visit(allowed=REFUSED)
    sign_in(page, seeded, "reader")
    expect(page.get_by_role("link", name="alpha").first).to_be_visible()
    assert page.get_by_text("beta", exact=True).count() == 0
    page.goto(f"{seeded.url}/?repo=beta")
    expect(page.get_by_role("heading", name="Not here")).to_be_visible()
    shoot(page, "refusal")
    page.goto(f"{seeded.url}/scores/{1:024x}")  # the second seeded run is of beta
    expect(page.get_by_role("heading", name="Not here")).to_be_visible()
    page.goto(f"{seeded.url}/settings")
    assert page.get_by_role("heading", name="Access tokens").count() == 0
    assert page.get_by_role("heading", name="Server").count() == 0


def test_a_revoked_token_ends_its_session(sites, visit) -> None:
    site = sites()
    page = visit(allowed=REFUSED)
    sign_in(page, site, "reader")
    token = next(row for row in keyring.tokens(site.store) if row.name == "reader")
    keyring.revoke(site.store, token.id, time.time())
    page.goto(f"{site.url}/scores")
    expect(page).to_have_url(re.compile("/login"))


def test_a_part_of_a_page_without_a_session_leads_the_whole_page_to_sign_in(sites, visit) -> None:
    site = sites(lambda store: seed(store, scores=120, repos=("alpha", "beta"), now=time.time()))
    page = visit(allowed=REFUSED)
    sign_in(page, site, to="/scores")
    keyring.revoke(site.store, next(row for row in keyring.tokens(site.store) if row.name == "admin").id, time.time())
    page.get_by_role("link", name="Show older runs").click()
    expect(page).to_have_url(re.compile(r"/login\?to="))


def test_a_form_from_elsewhere_signs_nobody_out(seeded, visit) -> None:
    page = visit(allowed=REFUSED)
    sign_in(page, seeded)
    for form, headers in (({"csrf": "0" * 64}, {}), ({}, {}), ({"csrf": "x"}, {"sec-fetch-site": "cross-site"})):
        answer = page.request.post(f"{seeded.url}/logout", form=form, headers=headers, max_redirects=0)
        assert answer.status == 403
    answer = page.request.post(f"{seeded.url}/login", form={"token": seeded.tokens["admin"], "csrf": "0" * 64}, max_redirects=0)
    assert answer.status == 403
    page.goto(f"{seeded.url}/")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def test_the_overview_shows_verdicts_reasons_queue_and_repositories(seeded, visit) -> None:
    page = visit()
    sign_in(page, seeded)
    expect(page.get_by_role("img", name=re.compile("Runs a day"))).to_be_visible()
    expect(page.locator("#queue")).to_contain_text("2 running, 1 waiting.")
    expect(page.get_by_role("link", name="TRV101").first).to_be_visible()
    shoot(page, "overview")
    page.get_by_text("The same as a table").click()
    expect(page.get_by_role("region", name="Table: Runs a day")).to_be_visible()
    page.get_by_role("link", name="TRV101").first.click()
    expect(page.get_by_text("Only those that TRV101 blocked.")).to_be_visible()
    assert page.locator("tbody tr .word-blocked").count() == page.locator("tbody tr").count() > 0


def test_a_list_grows_by_its_link_and_holds_every_run_once(seeded, visit) -> None:
    page = visit()
    sign_in(page, seeded, to="/scores")
    expect(page.locator("tbody tr th a")).to_have_count(50)
    page.get_by_role("link", name="Show older runs").click()
    expect(page.locator("tbody tr th a")).to_have_count(100)
    links = page.locator("tbody tr th a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert len(set(links)) == 100
    assert page.evaluate("document.activeElement.closest('tr').rowIndex") == 51, "the focus goes on where the new rows begin"
    shoot(page, "runs")


def test_a_list_is_narrowed_by_outcome_and_head(seeded, visit) -> None:
    page = visit()
    sign_in(page, seeded, to="/scores")
    page.get_by_label("Outcome").select_option("blocked")
    page.get_by_label("Head commit").fill(f"{4:040x}")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("tbody tr th a")).to_have_count(1)
    expect(page.locator("tbody")).to_contain_text("blocked")
    page.goto(f"{seeded.url}/scores?head=ffff")
    expect(page.get_by_role("heading", name="No runs here")).to_be_visible()


def test_a_blocked_run_shows_its_legs_reasons_and_next_steps(seeded, visit) -> None:
    page = visit()
    sign_in(page, seeded, to="/scores?word=blocked")
    page.locator("tbody tr th a").first.click()
    expect(page.locator(".verdict")).to_have_text("MERGE_BLOCKED")
    expect(page.locator(".legs .leg")).to_have_count(3)
    assert page.locator(".leg-FAIL").count() == 1
    expect(page.locator(".rule .next")).to_be_visible()
    expect(page.locator(".rule .path")).to_have_text("src/pkg/core.py:3")
    expect(page.get_by_role("table", name="Duration of each test")).to_contain_text("120 ms")
    expect(page.get_by_role("heading", name="Replay key")).to_be_visible()
    shoot(page, "blocked-run")
    with page.expect_download() as download:
        page.get_by_role("link", name="decision.json").click()
    assert download.value.suggested_filename == "decision.json"


def test_leases_stand_on_a_time_line_those_that_end_first_first(seeded, visit) -> None:
    page = visit()
    sign_in(page, seeded, to="/leases")
    expect(page.get_by_role("row", name=re.compile("test_wait_0"))).to_contain_text("ended")
    expect(page.get_by_role("row", name=re.compile("test_wait_1"))).to_contain_text("holds")
    assert page.locator("tbody tr th code").all_inner_texts() == [f"tests/sealed/test_net.py::test_wait_{j}" for j in range(4)]
    bars = page.locator("td.lifecell rect:nth-of-type(2)").evaluate_all("all => all.map(bar => parseFloat(bar.getAttribute('width')))")
    assert bars == sorted(bars)
    assert bars[0] < bars[3]
    shoot(page, "leases")


def test_flaky_tests_owners_and_settings_are_there(seeded, visit) -> None:
    page = visit()
    sign_in(page, seeded, to="/flaky")
    expect(page.locator("tbody tr")).to_have_count(3)
    shoot(page, "flaky")
    page.goto(f"{seeded.url}/owners")
    expect(page.get_by_role("row", name="/tests/sealed/")).to_contain_text("@mona")
    shoot(page, "owners")
    page.goto(f"{seeded.url}/settings")
    expect(page.get_by_role("row", name=re.compile("reader"))).to_contain_text("in use")
    assert seeded.tokens["reader"] not in page.content()
    shoot(page, "settings")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_a_live_run_is_followed_to_its_decision(sites, visit, scripts) -> None:
    site = sites()
    store, now = site.store, time.time()
    row, _ = ask(store, AskFor(repo="alpha", base="b" * 40, head="c" * 40, policy="p", ref="x", asked_by="agent"), now)
    page = visit(scripts=scripts)
    sign_in(page, site, to=f"/scores/{row.id}")
    expect(page.locator(".verdict")).to_have_text("Waiting")
    move(store, row.id, "fetching", now)
    move(store, row.id, "scoring", now)
    note(store, row.id, "progress", "12 of 40 sealed tests", now)
    expect(page.locator(".sentence")).to_have_text("12 of 40 sealed tests", timeout=20_000)  # without scripts the page comes anew after five seconds
    expect(page.locator(".step-now")).to_contain_text("score")
    shoot(page, f"live-run-{'scripts' if scripts else 'no-scripts'}")
    keep_evidence(store, row.id, {"decision.json": b'{"schema": 1, "merge": true, "verdicts": {"src-score": {"status": "PASS"}, "oracle-integrity": {"status": "PASS"}, "flake-lease": {"status": "PASS"}}}'})
    decide(store, row.id, Decided(merge=True, src_score="PASS", oracle_integrity="PASS", flake_lease="PASS"), now)
    finish(store, row.id, now)
    expect(page.locator(".verdict")).to_have_text("MERGE_OK", timeout=20_000)
    expect(page.locator(".leg-PASS")).to_have_count(3)
    if scripts:
        assert page.title().startswith("MERGE_OK")


def test_a_superseded_run_leads_to_the_newer_one_and_a_broken_one_stays_blocked(sites, visit) -> None:
    site = sites()
    now = time.time()
    old, _ = ask(site.store, AskFor(repo="alpha", base="b" * 40, head="c" * 40, policy="p", ref="x"), now)
    new, _ = ask(site.store, AskFor(repo="alpha", base="b" * 40, head="d" * 40, policy="p", ref="x"), now)
    end(site.store, old.id, "superseded", "a newer head of x was pushed", now)
    end(site.store, new.id, "failed", "the worker lost its disk", now)
    page = visit()
    sign_in(page, site, to=f"/scores/{old.id}")
    page.get_by_role("link", name="Go to the run of the newer head").click()
    expect(page.locator(".verdict")).to_have_text("MERGE_BLOCKED")
    expect(page.locator(".banner")).to_contain_text("the merge stays blocked")
    expect(page.locator(".banner")).to_contain_text("the worker lost its disk")


def test_held_out_oracles_do_not_leak_into_pages(sites, visit) -> None:
    site = sites(lambda store: seed(store, scores=60, repos=("alpha", "beta"), now=time.time()), feedback="score")
    page = visit()
    sign_in(page, site, "reader", to="/scores?word=blocked")
    page.locator("tbody tr th a").first.click()
    expect(page.locator(".verdict")).to_have_text("MERGE_BLOCKED")
    expect(page.locator(".note")).to_contain_text("score")
    secret = ("a finding of", "test_core", "src/pkg/core.py", "test_wait", "test_clock", "TimeoutError")
    for place in (page.url, f"{site.url}/leases", f"{site.url}/flaky", f"{site.url}/"):
        page.goto(place)
        assert not [part for part in secret if part in page.content()], place


def test_what_is_public_is_read_without_signing_in(sites, visit) -> None:
    site = sites(public=True)
    page = visit()
    page.goto(f"{site.url}/scores")
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()


def test_the_tour_works_without_scripts(seeded, visit) -> None:
    page = visit(scripts=False)
    sign_in(page, seeded)
    page.get_by_role("link", name="Runs", exact=True).click()
    page.get_by_role("link", name="Show older runs").click()
    expect(page.get_by_role("link", name="Back to the newest")).to_be_visible()
    expect(page.locator("tbody tr th a")).to_have_count(50)
    page.locator("tbody tr th a").first.click()
    expect(page.locator(".verdict")).to_have_text(re.compile("MERGE_"))
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(f"{seeded.url}/login")
