"""GitHub: publishing never shows a green that is not earned, writes nothing twice, and asks little where nothing changed."""

from __future__ import annotations

import pytest

from fakes.github import BUSY, LOGIN, FakeGitHub, oid
from trivet.errors import ForgeError, UsageError
from trivet.forge import checks
from trivet.forge.words import NAMES
from unit.forge.worlds import decision, github


@pytest.fixture
def fake() -> FakeGitHub:
    made = FakeGitHub()
    made.open(7, head="a")
    return made


def test_a_change_is_pending_first_and_green_last(fake: FakeGitHub) -> None:
    forge = github(fake)
    subject = forge.subject(7)
    forge.begin(subject)
    assert fake.shown("a") == dict.fromkeys(NAMES, "in_progress")
    assert not fake.green
    forge.finish(subject, decision("a"))
    assert fake.shown("a") == dict.fromkeys(NAMES, "success")
    assert [run["name"] for run in fake.runs if run["status"] == "completed"]
    writes = [call for call in fake.calls if call.startswith("PATCH")]
    assert writes[-1].endswith(str(fake.latest("a")["trivet/join"]["id"]))


def test_a_red_join_is_written_first(fake: FakeGitHub) -> None:
    forge = github(fake)
    subject = forge.subject(7)
    forge.begin(subject)
    before = len(fake.calls)
    forge.finish(subject, decision("a", good=False))
    first = next(call for call in fake.calls[before:] if call.startswith("PATCH"))
    assert first.endswith(str(fake.latest("a")["trivet/join"]["id"]))
    assert fake.shown("a") == {**dict.fromkeys(NAMES, "success"), "trivet/src-score": "failure", "trivet/join": "failure"}
    assert not fake.green


def test_judging_again_ends_a_green_of_before_at_once(fake: FakeGitHub) -> None:
    forge = github(fake)
    subject = forge.subject(7)
    forge.finish(subject, decision("a"))
    seen: list[str] = []
    fake.before = lambda method, _path: seen.append(fake.shown("a")["trivet/join"]) if method == "POST" else None
    forge.begin(subject)
    assert seen == ["success", "in_progress", "in_progress", "in_progress"]


def test_publishing_the_same_again_costs_one_call_and_writes_nothing(fake: FakeGitHub) -> None:
    forge = github(fake)
    subject = forge.subject(7)
    forge.finish(subject, decision("a", advisory=True))
    fake.calls.clear()
    assert forge.finish(subject, decision("a", advisory=True)).wrote == ()
    assert fake.calls == [f"GET /repos/acme/rates/commits/{oid('a')}/check-runs"]


def test_the_advisory_lane_is_neutral_and_no_leg_ever_is(fake: FakeGitHub) -> None:
    forge = github(fake)
    forge.finish(forge.subject(7), decision("a", advisory=True))
    assert fake.shown("a")["trivet/advisory"] == "neutral"
    unsure = decision("a")
    unsure = type(unsure)(
        src_score=type(unsure.src_score)(leg="src-score", status="NOT_RUN", cause="infra"),
        oracle_integrity=unsure.oracle_integrity, flake_lease=unsure.flake_lease, facts=unsure.facts,
    )  # fmt: skip
    forge.finish(forge.subject(7), unsure)
    assert (fake.shown("a")["trivet/src-score"], fake.shown("a")["trivet/join"]) == ("cancelled", "failure")


def test_a_head_that_moved_on_gets_no_green_and_nothing_stays_pending(fake: FakeGitHub) -> None:
    forge = github(fake)
    subject = forge.subject(7)
    forge.begin(subject)
    fake.push(7, "b")
    assert "moved on" in forge.finish(subject, decision("a")).stale
    assert fake.shown("a")["trivet/join"] == "cancelled"
    assert fake.shown("b") == {}
    assert not fake.green


def test_a_push_between_the_legs_and_the_join_is_seen(fake: FakeGitHub) -> None:
    forge = github(fake)
    subject = forge.subject(7)
    forge.begin(subject)

    def push(method: str, path: str) -> None:
        if method == "PATCH" and path.endswith(str(fake.latest("a")["trivet/flake-lease"]["id"])):
            fake.push(7, "b")

    fake.before = push
    assert forge.finish(subject, decision("a")).stale
    assert not fake.green


def test_a_decision_about_another_head_is_never_published_as_a_success(fake: FakeGitHub) -> None:
    forge = github(fake)
    subject = forge.subject(7)
    forge.begin(subject)
    assert "not about" in forge.finish(subject, decision("z")).stale
    assert set(fake.shown("a").values()) == {"in_progress"}
    assert not fake.green


@pytest.mark.parametrize("what", ["closed", "retargeted"])
def test_a_change_that_goes_elsewhere_gets_no_green(fake: FakeGitHub, what: str) -> None:
    forge = github(fake)
    subject = forge.subject(7)
    forge.begin(subject)
    fake.close(7) if what == "closed" else fake.retarget(7, "release")
    assert forge.finish(subject, decision("a")).stale
    assert not fake.green


def test_the_same_head_offered_to_another_branch_is_refused_by_name(fake: FakeGitHub) -> None:
    """A check belongs to a commit: green for one branch would be green for the other."""
    fake.open(8, head="a", base_ref="release")
    forge = github(fake)
    found = forge.finish(forge.subject(7), decision("a"))
    assert "release as #8" in found.stale
    assert not fake.green


def test_a_closed_change_with_the_same_head_is_nobodys_business(fake: FakeGitHub) -> None:
    fake.open(8, head="a", base_ref="release")
    fake.close(8)
    forge = github(fake)
    assert not forge.finish(forge.subject(7), decision("a")).stale
    assert fake.green


def test_a_strangers_check_of_our_name_is_left_alone_and_ours_stands_beside_it(fake: FakeGitHub) -> None:
    fake.runs.append(
        {"id": 1, "name": "trivet/join", "head_sha": oid("a"), "status": "in_progress", "conclusion": None, "external_id": "trivet:x",
         "app": {"id": 15368, "slug": "actions"}, "output": {"title": "", "summary": ""}}
    )  # fmt: skip
    forge = github(fake)
    forge.finish(forge.subject(7), decision("a", good=False))
    assert fake.runs[0]["conclusion"] is None
    assert fake.shown("a")["trivet/join"] == "failure"


@pytest.mark.parametrize("fault", [*BUSY, "unreachable", "lost"])
@pytest.mark.parametrize("place", range(8))
def test_whatever_fails_once_the_end_is_the_same_and_nothing_is_doubled(fake: FakeGitHub, fault: str, place: int) -> None:
    waits: list[float] = []
    forge = github(fake, waits=waits)
    subject = forge.subject(7)
    fake.faults.extend([*[""] * place, fault])
    forge.begin(subject)
    forge.finish(subject, decision("a", good=False))
    forge.comment(subject, decision("a", good=False))
    assert fake.shown("a")["trivet/join"] == "failure"
    assert len(fake.runs) == len(NAMES)
    assert len(fake.comments) == 1
    assert not fake.green
    if fault in ("limit", "429", "secondary"):
        assert waits == [{"limit": 30.0, "429": 2.0, "secondary": 5.0}[fault]]


def test_a_forge_that_stays_busy_ends_in_one_message_without_the_token(fake: FakeGitHub) -> None:
    fake.faults.extend(["503"] * 50)
    with pytest.raises(ForgeError, match="did not answer") as caught:
        github(fake).subject(7)
    assert "s3cret" not in f"{caught.value} {caught.value.where} {caught.value.hint}"


def test_a_limit_that_ends_too_late_is_told_with_its_time(fake: FakeGitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUSY, "limit", (403, {**BUSY["limit"][1], "x-ratelimit-reset": "1790082000"}))
    fake.faults.append("limit")
    with pytest.raises(ForgeError) as caught:
        github(fake).subject(7)
    assert "wait 3600 s" in caught.value.hint


def test_a_no_that_stays_is_believed_after_three_tries(fake: FakeGitHub) -> None:
    waits: list[float] = []
    fake.faults.extend(["422"] * 9)
    with pytest.raises(ForgeError, match="answered 422"):
        github(fake, waits=waits).subject(7)
    assert len(waits) == 2


# --- the comment ---


def test_there_is_one_comment_and_it_is_kept_up_to_date(fake: FakeGitHub) -> None:
    forge = github(fake)
    subject = forge.subject(7)
    forge.comment(subject, decision("a", good=False))
    fake.push(7, "b")
    forge.comment(forge.subject(7), decision("b"))
    (row,) = fake.comments
    assert row["body"].startswith(checks.MARKER)
    assert oid("b") in row["body"]
    assert "MERGE_OK" in row["body"]


def test_a_green_change_without_a_comment_gets_none_unless_asked(fake: FakeGitHub) -> None:
    forge = github(fake)
    assert forge.comment(forge.subject(7), decision("a")).wrote == ()
    assert forge.comment(forge.subject(7), decision("a"), always=True).wrote == ("comment",)


def test_nobody_elses_comment_with_our_marker_is_touched(fake: FakeGitHub) -> None:
    fake.say(7, "agent", f"{checks.MARKER}\nMERGE_OK")
    forge = github(fake)
    forge.comment(forge.subject(7), decision("a", good=False))
    assert fake.comments[0]["body"].endswith("MERGE_OK")
    assert fake.comments[1]["user"]["login"] == LOGIN


def test_the_comment_is_found_among_hundreds(fake: FakeGitHub) -> None:
    for number in range(130):
        fake.say(7, "ida", f"remark {number}")
    forge = github(fake)
    forge.comment(forge.subject(7), decision("a", good=False))
    forge.comment(forge.subject(7), decision("a"))
    assert sum(row["user"]["login"] == LOGIN for row in fake.comments) == 1


def test_two_comments_of_a_race_become_one(fake: FakeGitHub) -> None:
    for _ in range(2):
        fake.say(7, LOGIN, f"{checks.MARKER}\nold")
    forge = github(fake)
    forge.comment(forge.subject(7), decision("a", good=False))
    assert len(fake.comments) == 1


def test_what_the_patch_says_is_text(fake: FakeGitHub) -> None:
    forge = github(fake)
    forge.comment(forge.subject(7), decision("a", good=False))
    body = fake.comments[0]["body"]
    assert "<b>" not in body
    assert "@everyone" not in body


def test_a_token_that_does_not_know_its_name_is_told_to_be_named(fake: FakeGitHub) -> None:
    fake.say(7, "agent", checks.MARKER)
    with pytest.raises(ForgeError, match="speaks as"):
        github(fake, login="").comment(github(fake).subject(7), decision("a", good=False))


# --- evidence ---


def test_the_last_word_of_each_reviewer_counts_and_remarks_change_nothing(fake: FakeGitHub) -> None:
    fake.review(7, "rosa", "APPROVED")
    fake.review(7, "rosa", "COMMENTED")
    fake.review(7, "ida", "APPROVED")
    fake.review(7, "ida", "CHANGES_REQUESTED")
    fake.review(7, "kim", "DISMISSED")
    fake.push(7, "b")
    fake.review(7, "lee", "APPROVED")
    forge = github(fake)
    found = forge.approvals(forge.subject(7))
    assert sorted(found.approvals) == [("lee", oid("b")), ("rosa", oid("a"))]
    assert found.author == "agent"


def test_members_of_a_team_are_looked_up_and_kept_for_a_while(fake: FakeGitHub) -> None:
    fake.teams["acme/quality"] = ["rosa", "ida"]
    now = [0.0]
    forge = github(fake, clock=lambda: now[0])
    subject = forge.subject(7)
    evidence = forge.approvals(subject)
    fake.calls.clear()
    for fresh in (False, False, True):
        found = forge.complete(subject, evidence, ("acme/quality", "acme/gone"), fresh=fresh)
        assert found.teams == (("acme/quality", ("ida", "rosa")), ("acme/gone", ()))
    now[0] = 10_000.0
    forge.complete(subject, evidence, ("acme/quality",), fresh=False)
    assert sum("/teams/quality/" in call for call in fake.calls) == 3


# --- addresses ---


@pytest.mark.parametrize("url", ["http://git.example.org", "ftp://x", "https://user:pw@git.example.org", "https://x/?token=1", "git.example.org"])
def test_an_address_that_could_leak_the_token_is_refused(url: str) -> None:
    from trivet.forge.wire import checked_url

    with pytest.raises(UsageError):
        checked_url(url)


@pytest.mark.parametrize("name", ["acme", "acme/rates/x", "../x", "acme/..", "acme/ra tes", ""])
def test_a_repository_name_that_could_lead_elsewhere_is_refused(name: str) -> None:
    from trivet.forge.github import GitHub

    with pytest.raises(UsageError):
        GitHub("https://git.example.org", name, token=lambda: "x")


def test_the_token_is_sent_to_no_other_host(fake: FakeGitHub) -> None:
    fake.open(9, head="c")
    fake._page = lambda rows, *_: (200, rows, {"link": '<https://evil.example/x?page=2>; rel="next"'})
    with pytest.raises(ForgeError, match="another address"):
        github(fake).open_changes()
