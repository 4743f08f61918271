"""GitLab: an approval counts for the commit it was given on, statuses are never green too early, and one comment stays one."""

from __future__ import annotations

import httpx
import pytest

from fakes.github import oid
from fakes.gitlab import BUSY, LOGIN, TOKEN, FakeGitLab
from trivet.errors import ForgeError, UsageError
from trivet.forge import checks
from trivet.forge.gitlab import GitLab
from trivet.forge.keeper import Keeper
from trivet.forge.words import NAMES
from unit.forge.worlds import Judge, decision


def gitlab(fake: FakeGitLab, **more: object) -> GitLab:
    return GitLab(
        "https://git.example.org/api/v4", "acme/rates", token=lambda: TOKEN, transport=httpx.MockTransport(fake.handler),
        sleep=lambda _seconds: None, **more,
    )  # fmt: skip


@pytest.fixture
def fake() -> FakeGitLab:
    made = FakeGitLab()
    made.open(4, head="a")
    return made


def approved(fake: FakeGitLab) -> list[tuple[str, str]]:
    forge = gitlab(fake)
    subject = forge.subject(4)
    return sorted(forge.complete(subject, forge.approvals(subject), ()).approvals)


@pytest.mark.parametrize("with_times", [True, False], ids=["told", "from the notes"])
def test_an_approval_counts_for_the_head_that_stood_there(fake: FakeGitLab, with_times: bool) -> None:
    fake.with_times = with_times
    fake.approve(4, "rosa")
    assert approved(fake) == [("rosa", oid("a"))]
    fake.push(4, "b")
    assert approved(fake) == []
    fake.approve(4, "ida")
    assert approved(fake) == [("ida", oid("b"))]
    fake.unapprove(4, "ida")
    assert approved(fake) == []


@pytest.mark.parametrize("with_times", [True, False])
def test_an_approval_of_another_head_does_not_count_when_the_first_comes_back(fake: FakeGitLab, with_times: bool) -> None:
    """Push a bad head, show a good one, get it approved, push the bad one again."""
    fake.with_times = with_times
    fake.push(4, "nice")
    fake.approve(4, "rosa")
    fake.push(4, "a")
    assert approved(fake) == []


def test_a_time_that_cannot_be_told_counts_for_nothing(fake: FakeGitLab) -> None:
    fake.with_times = False
    fake.approve(4, "rosa")
    fake.notes[4].clear()
    assert approved(fake) == []
    fake.with_times = True
    fake.versions[4][-1]["head_commit_sha"] = oid("other")
    assert approved(fake) == []


def test_a_note_of_a_person_that_sounds_like_an_approval_is_none(fake: FakeGitLab) -> None:
    fake.with_times = False
    fake.approve(4, "rosa")
    fake.push(4, "b")
    fake._note(4, "rosa", "approved this merge request")
    assert approved(fake) == []


def test_groups_and_roles_are_looked_up(fake: FakeGitLab) -> None:
    fake.members["acme/quality"] = [{"username": "rosa", "state": "active"}, {"username": "old", "state": "blocked"}]
    fake.members[""] = [
        {"username": "mia", "state": "active", "access_level": 40},
        {"username": "dev", "state": "active", "access_level": 30},
    ]
    forge = gitlab(fake)
    subject = forge.subject(4)
    teams = dict(forge.complete(subject, forge.approvals(subject), ("acme/quality", "@maintainers", "nobody")).teams)
    assert teams == {"acme/quality": ("rosa",), "@maintainers": ("mia",), "nobody": ()}


def test_running_comes_first_and_a_success_last(fake: FakeGitLab) -> None:
    forge = gitlab(fake, status_check=9)
    subject = forge.subject(4)
    forge.begin(subject)
    assert fake.shown("a") == dict.fromkeys(NAMES, "running")
    forge.finish(subject, decision("a", advisory=True))
    assert fake.shown("a") == dict.fromkeys(NAMES, "success")
    assert fake.statuses[-1]["name"] == "trivet/join"
    assert fake.answers == [(oid("a"), "pending"), (oid("a"), "passed")]
    fake.calls.clear()
    assert forge.finish(subject, decision("a", advisory=True)).wrote == ()
    assert len(fake.calls) == 1


def test_a_red_join_comes_first(fake: FakeGitLab) -> None:
    forge = gitlab(fake, status_check=9)
    subject = forge.subject(4)
    forge.begin(subject)
    before = len(fake.statuses)
    forge.finish(subject, decision("a", good=False))
    assert (fake.statuses[before]["name"], fake.statuses[before]["status"]) == ("trivet/join", "failed")
    assert fake.answers[-1] == (oid("a"), "failed")
    assert not fake.green


@pytest.mark.parametrize("what", ["push", "close", "retarget", "twin", "other"])
def test_a_merge_request_that_is_no_longer_what_was_judged_gets_no_green(fake: FakeGitLab, what: str) -> None:
    forge = gitlab(fake)
    subject = forge.subject(4)
    forge.begin(subject)
    match what:
        case "push":
            fake.push(4, "b")
        case "close":
            fake.merge_requests[4]["state"] = "closed"
        case "retarget":
            fake.merge_requests[4]["target_branch"] = "release"
        case "twin":
            fake.open(5, head="a", target="release")
    assert forge.finish(subject, decision("z" if what == "other" else "a")).stale
    assert not fake.green


@pytest.mark.parametrize("fault", [*BUSY, "lost"])
@pytest.mark.parametrize("place", range(9))
def test_whatever_fails_once_the_end_is_the_same(fake: FakeGitLab, fault: str, place: int) -> None:
    forge = gitlab(fake)
    subject = forge.subject(4)
    fake.faults.extend([*[""] * place, fault])
    forge.begin(subject)
    forge.finish(subject, decision("a", good=False))
    forge.comment(subject, decision("a", good=False))
    assert fake.shown("a")["trivet/join"] == "failed"
    assert len(fake.notes[4]) == 1
    assert len(fake.statuses) <= 2 * len(NAMES)
    assert not fake.green


def test_an_approval_that_was_taken_back_ends_without_a_green(fake: FakeGitLab) -> None:
    fake.approve(4, "rosa")
    forge = gitlab(fake)
    subject = forge.subject(4)
    evidence = forge.complete(subject, forge.approvals(subject), ())
    assert type(evidence).of(evidence.document()) == evidence
    assert not forge.finish(subject, decision("a"), evidence=evidence).stale
    fake.green.clear()
    fake.unapprove(4, "rosa")
    forge.begin(subject)
    assert "rosa was taken back" in forge.finish(subject, decision("a"), evidence=evidence).stale
    assert not fake.green


def test_there_is_one_comment_and_nobody_elses_is_touched(fake: FakeGitLab) -> None:
    fake._note(4, "agent", f"{checks.MARKER}\nMERGE_OK")
    forge = gitlab(fake)
    subject = forge.subject(4)
    assert forge.comment(subject, decision("a")).wrote == ()
    forge.comment(subject, decision("a", good=False))
    forge.comment(subject, decision("a"))
    assert [row["author"]["username"] for row in fake.notes[4]] == ["agent", LOGIN]
    assert "MERGE_OK" in fake.notes[4][1]["body"]


def test_a_whole_life_is_kept_in_step(fake: FakeGitLab) -> None:
    judge = Judge(good={"fixed"}, oracle={"o"})
    service = Keeper(gitlab(fake), judge)
    assert service.settle(4).word == "shown"
    assert fake.shown("a")["trivet/join"] == "failed"
    fake.push(4, "fixed")
    service.settle(4)
    assert fake.shown("fixed")["trivet/join"] == "success"
    fake.push(4, "o")
    service.reconcile()
    assert fake.shown("o")["trivet/join"] == "failed"
    fake.approve(4, "rosa")
    service.settle(4)
    assert fake.shown("o")["trivet/join"] == "success"
    fake.calls.clear()
    assert service.settle(4).word == "unchanged"
    assert len(fake.calls) == 2


def test_a_diff_that_gitlab_does_not_know_yet_is_told(fake: FakeGitLab) -> None:
    fake.merge_requests[4]["diff_refs"] = None
    with pytest.raises(ForgeError, match="does not know the diff"):
        gitlab(fake).subject(4)


@pytest.mark.parametrize("project", ["", " ", "a/../b", "a//b", "."])
def test_a_project_name_that_leads_elsewhere_is_refused(project: str) -> None:
    with pytest.raises(UsageError):
        GitLab("https://git.example.org/api/v4", project, token=lambda: "x")


def test_no_line_of_a_comment_is_an_order(fake: FakeGitLab) -> None:
    assert not [line for line in checks.comment_body(decision("a", good=False)).splitlines() if line.lstrip().startswith("/")]
