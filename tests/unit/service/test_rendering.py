"""Pages: escaped, without anything inline, with landmarks and a word for each status."""

from __future__ import annotations

import hashlib
import re
from html.parser import HTMLParser

import pytest

from trivet.service import rendering
from trivet.service.views import (
    Day,
    FlakyList,
    FlakyRow,
    Frame,
    LeaseList,
    LeaseRow,
    Overview,
    OwnerGroup,
    OwnersView,
    Refusal,
    RepoRow,
    RunFilter,
    RunList,
    RunRow,
    RunView,
    Settings,
    Step,
    TokenRow,
)

pytest.importorskip("jinja2")
NOW = 1_796_099_400.0
EVIL = "<script>alert(1)</script>\"'&{{7*7}}"
ROW = RunRow(id="r1", repo=EVIL, base="b" * 40, head="c" * 40, state="decided", at=NOW, merge=False, statuses=("FAIL", "PASS", "NOT_RUN"), cause=EVIL, step="")
LEASE = LeaseRow(repo=EVIL, test=EVIL, owner=EVIL, reason=EVIL, signature=EVIL, expires_at=NOW + 90_000, since=NOW - 90_000)


def frame(section: str = "overview", reader: str = "ci") -> Frame:
    return Frame(now=NOW, section=section, reader=reader, csrf="token", version="9")


def pages() -> dict[str, str]:
    overview = Overview(
        repos=(RepoRow(name=EVIL, merged=1, last_word="blocked", last_id="r1", last_at=NOW),), days=(Day(day="2026-12-01", merged=1),), reasons=(),
        queue=(ROW,), waiting=1, running=0, recent=(ROW,), total=1, repo="",
    )  # fmt: skip
    run = RunView(row=ROW, submitted_at=NOW, started_at=None, finished_at=None, outcome=EVIL, why=EVIL, steps=(Step(name=EVIL, state="now", note=EVIL),))
    leases = LeaseList(rows=(LEASE,), repos=("a", EVIL))
    first, last = rendering.axis(leases, NOW)
    return {
        "overview": rendering.render("overview", frame(), view=overview),
        "runs": rendering.render("runs", frame("runs"), view=RunList(rows=(ROW,), filter=RunFilter(repo=EVIL, head=EVIL, rule=EVIL), repos=("a", EVIL), next="5")),
        "run": rendering.render("run", frame("runs"), view=run),
        "leases": rendering.render("leases", frame("leases"), view=leases, first=first, last=last, states=rendering.lease_states(leases, NOW)),
        "flaky": rendering.render("flaky", frame("flaky"), view=FlakyList(rows=(FlakyRow(repo=EVIL, test=EVIL, seen=2, first_at=NOW, last_at=NOW, why=EVIL),), repos=("a", EVIL))),
        "owners": rendering.render("owners", frame("owners"), view=OwnersView(groups=(OwnerGroup(repo=EVIL, rules=((EVIL, (EVIL,)), ("x", ()))),), repos=("a",))),
        "settings": rendering.render("settings", frame("settings"), view=Settings(groups=((EVIL, ((EVIL, EVIL),)),), tokens=(TokenRow(name=EVIL, scopes=(EVIL,), repos=(EVIL,)),))),
        "login": rendering.render("login", frame("login", ""), csrf="x", to=EVIL, problem=EVIL),
        "refusal": rendering.render("refusal", frame("", ""), view=Refusal(status=404, title=EVIL, message=EVIL, hint=EVIL, href="/", label=EVIL)),
    }


@pytest.mark.parametrize("name", pages())
def test_foreign_text_never_becomes_markup(name) -> None:
    text = pages()[name]
    assert "<script>alert" not in text
    assert "49" not in re.findall(r"alert\(1\).{0,80}", text)[0]
    assert "&lt;script&gt;" in text


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.mark.parametrize("name", pages())
def test_a_page_has_nothing_inline_and_names_its_parts(name) -> None:
    parser = _Tags()
    parser.feed(pages()[name])
    assert not [(tag, attrs) for tag, attrs in parser.tags if tag == "style" or "style" in attrs or any(key.startswith("on") for key in attrs)]
    scripts = [attrs for tag, attrs in parser.tags if tag == "script"]
    assert scripts
    assert all(str(attrs["src"]).startswith("/static/") for attrs in scripts)
    names = [tag for tag, _ in parser.tags]
    assert [names.count(tag) for tag in ("main", "h1", "body")] == [1, 1, 1]
    assert ("a", {"class": "skip", "href": "#main"}) in parser.tags
    assert names.count("caption") == names.count("table")
    ids = [attrs["id"] for _, attrs in parser.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("name", "word"), [("overview", "blocked"), ("runs", "blocked"), ("run", "MERGE_BLOCKED"), ("leases", "ends soon")])
def test_a_status_is_told_in_words(name, word) -> None:
    assert word in pages()[name]


def test_a_first_visit_says_what_to_do_next() -> None:
    nothing = Overview(repos=(RepoRow(name="shop"),), days=(Day(day="2026-12-01"),), reasons=(), queue=(), waiting=0, running=0, recent=(), total=0)
    assert "--project shop" in rendering.render("overview", frame(), view=nothing)
    assert "service.toml" in rendering.render("overview", frame(), view=Overview(repos=(), days=(), reasons=(), queue=(), waiting=0, running=0, recent=(), total=0))


def test_a_running_page_refreshes_without_javascript_and_an_ended_one_does_not() -> None:
    row = RunRow(id="r1", repo="shop", base="b" * 40, head="c" * 40, state="running", at=NOW)
    live = rendering.render("run", frame(), view=RunView(row=row, submitted_at=NOW, started_at=NOW, finished_at=None, outcome=""))
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in live
    assert 'data-live="/v1/scores/r1/events"' in live
    assert 'http-equiv="refresh"' not in pages()["run"]


def test_the_address_of_a_file_changes_with_its_content() -> None:
    for name in rendering.STATIC:
        assert rendering.static_href(name) == f"/static/{hashlib.sha256(rendering.static(name)).hexdigest()[:12]}/{name}"


def test_the_vendored_script_is_what_was_published_and_its_notice_is_beside_it() -> None:
    """htmx 2.0.11 from its npm package; see the decision record."""
    assert hashlib.sha256(rendering.static("htmx.min.js")).hexdigest() == "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
    assert "Zero-Clause BSD" in (rendering.files("trivet.service") / "static" / "htmx.LICENSE.txt").read_text("utf-8")


def test_a_file_that_is_not_listed_is_not_read() -> None:
    with pytest.raises(KeyError):
        rendering.static("../app.py")
