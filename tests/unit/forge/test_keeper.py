"""A whole life of a pull request: whatever is lost, doubled or late, what is shown in the end is what judging afresh would show."""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest

from fakes.github import BUSY, SECRET, FakeGitHub, oid
from trivet.errors import TrivetError
from trivet.forge.events import github_event
from trivet.forge.keeper import Keeper
from unit.forge.worlds import Judge, github

LIVES = 400 if os.environ.get("TRIVET_LONG") else 15


def keeper(fake: FakeGitHub, judge: Judge) -> Keeper:
    return Keeper(github(fake), judge)


def deliver(fake: FakeGitHub, service: Keeper) -> list[str]:
    return [service.handle(github_event(headers, body, (SECRET,))).word for headers, body in fake.take()]


def test_a_life_opened_red_fixed_queued_and_merged() -> None:
    fake, judge = FakeGitHub(), Judge(good={"fixed", "queued"})
    service = keeper(fake, judge)
    fake.open(7, head="broken")
    assert deliver(fake, service) == ["shown"]
    assert fake.shown("broken")["trivet/join"] == "failure"
    assert "MERGE\\_BLOCKED" in fake.comments[0]["body"] or "MERGE_BLOCKED" in fake.comments[0]["body"]
    fake.push(7, "fixed")
    assert deliver(fake, service) == ["shown"]
    assert fake.shown("fixed")["trivet/join"] == "success"
    fake.queue(7, "queued")
    assert deliver(fake, service) == ["shown"]
    assert fake.shown("queued")["trivet/join"] == "success"
    assert judge.seen[-1][0] == oid("queued")
    fake.close(7)
    assert deliver(fake, service) == ["gone"]
    assert len(fake.comments) == 1
    assert set(fake.green) == {oid("fixed"), oid("queued")}


def test_an_oracle_change_waits_for_an_owner_and_falls_back_when_it_moves() -> None:
    fake, judge = FakeGitHub(), Judge(oracle={"o1", "o2"})
    service = keeper(fake, judge)
    fake.open(3, head="o1")
    deliver(fake, service)
    assert fake.shown("o1")["trivet/join"] == "failure"
    fake.review(3, "stranger")
    deliver(fake, service)
    assert fake.shown("o1")["trivet/join"] == "failure"
    fake.review(3, "rosa")
    deliver(fake, service)
    assert fake.shown("o1")["trivet/join"] == "success"
    fake.push(3, "o2")
    deliver(fake, service)
    assert fake.shown("o2")["trivet/join"] == "failure"
    fake.review(3, "rosa", "DISMISSED")
    deliver(fake, service)
    assert oid("o2") not in fake.green


def test_an_approval_that_is_taken_back_ends_the_green() -> None:
    fake, judge = FakeGitHub(), Judge(oracle={"o"})
    service = keeper(fake, judge)
    fake.open(3, head="o")
    fake.review(3, "rosa")
    deliver(fake, service)
    assert fake.shown("o")["trivet/join"] == "success"
    fake.review(3, "rosa", "CHANGES_REQUESTED")
    deliver(fake, service)
    assert fake.shown("o")["trivet/join"] == "failure"


def test_an_event_after_which_nothing_changed_costs_two_calls() -> None:
    fake = FakeGitHub()
    service = keeper(fake, Judge(good={"a"}))
    fake.open(7, head="a")
    deliver(fake, service)
    for _ in range(5):
        fake._deliver("pull_request", "labeled", 7)
    fake.calls.clear()
    assert deliver(fake, service) == ["unchanged"] * 5
    assert len(fake.calls) == 10


def test_a_delivery_that_comes_twice_costs_nothing_and_a_failed_one_may_come_again() -> None:
    fake = FakeGitHub()
    service = keeper(fake, Judge(good={"a"}))
    fake.open(7, head="a")
    (delivery,) = list(fake.take())
    fake.faults.extend(["503"] * 60)
    event = github_event(*delivery, (SECRET,))
    with pytest.raises(TrivetError):
        service.handle(event)
    fake.faults.clear()
    assert service.handle(event).word == "shown"
    fake.calls.clear()
    assert service.handle(event).word == "doubled"
    assert not fake.calls


def test_a_push_while_judging_is_judged_again_and_the_first_never_becomes_green() -> None:
    fake = FakeGitHub()
    inner = Judge(good={"a", "b"})

    def judge(subject, evidence):
        if subject.head == oid("a"):
            fake.push(7, "b")
        return inner(subject, evidence)

    fake.open(7, head="a")
    service = Keeper(github(fake), judge)
    assert service.settle(7).word == "shown"
    assert set(fake.green) == {oid("b")}
    assert fake.shown("a")["trivet/join"] != "success"


def test_a_change_that_never_stands_still_is_given_up_without_a_green() -> None:
    fake, names = FakeGitHub(), iter(range(100))
    inner = Judge(good={f"h{number}" for number in range(100)})

    def judge(subject, evidence):
        fake.push(7, f"h{next(names)}")
        return inner(subject, evidence)

    fake.open(7, head="start")
    assert Keeper(github(fake), judge).settle(7).word == "moving"
    assert not fake.green


def test_an_approval_withdrawn_while_judging_does_not_count() -> None:
    fake, inner = FakeGitHub(), Judge(oracle={"o"})
    fake.open(3, head="o")
    fake.review(3, "rosa")
    rounds = []

    def judge(subject, evidence):
        rounds.append(1)
        if len(rounds) == 1:
            fake.review(3, "rosa", "CHANGES_REQUESTED")
        return inner(subject, evidence)

    Keeper(github(fake), judge).settle(3)
    assert fake.shown("o")["trivet/join"] == "failure"
    assert not fake.green


def test_an_approval_withdrawn_while_the_legs_are_shown_does_not_count() -> None:
    fake = FakeGitHub()
    fake.open(3, head="o")
    fake.review(3, "rosa")

    def withdraw(method: str, path: str) -> None:
        run = fake.latest("o").get("trivet/flake-lease")
        if method == "PATCH" and run and path.endswith(str(run["id"])):
            fake.review(3, "rosa", "CHANGES_REQUESTED")

    fake.before = withdraw
    keeper(fake, Judge(oracle={"o"})).settle(3)
    assert fake.shown("o")["trivet/join"] == "failure"
    assert not fake.green


def test_a_queue_entry_that_was_dissolved_gets_no_verdict() -> None:
    fake = FakeGitHub()
    service = keeper(fake, Judge(good={"q"}))
    fake.open(7, head="a")
    list(fake.take())
    fake.queue(7, "q")
    fake.refs.clear()
    assert deliver(fake, service) == ["gone"]
    assert not fake.green


@pytest.mark.parametrize(("same", "shown"), [(True, "success"), (False, "failure")])
def test_a_queue_entry_of_an_oracle_change_counts_with_the_approvals_of_what_it_holds(same: bool, shown: str) -> None:
    fake = FakeGitHub()

    def carry(_queued, pull, evidence):
        assert pull.number == 3
        return replace(evidence, approvals=tuple((login, oid("q")) for login, commit in evidence.approvals if same and commit == pull.head))

    service = Keeper(github(fake), Judge(oracle={"o", "q"}), carry=carry)
    fake.open(3, head="o")
    fake.review(3, "rosa")
    deliver(fake, service)
    fake.queue(3, "q")
    (delivery,) = list(fake.take())
    event = github_event(*delivery, (SECRET,))
    assert service.handle(event).word == "shown"
    assert fake.shown("q")["trivet/join"] == shown
    fake.calls.clear()
    assert service.handle(replace(event, delivery="again")).word == "unchanged"
    assert len(fake.calls) == 2


def test_a_judge_that_fails_leaves_the_checks_pending_and_the_next_event_goes_on() -> None:
    fake, inner = FakeGitHub(), Judge(good={"a"})
    broken = [True]

    def judge(subject, evidence):
        if broken.pop():
            raise TrivetError("the disk is full")
        return inner(subject, evidence)

    broken.insert(0, False)
    service = Keeper(github(fake), judge)
    fake.open(7, head="a")
    with pytest.raises(TrivetError):
        deliver(fake, service)
    assert set(fake.shown("a").values()) == {"in_progress"}
    assert service.reconcile()[0].word == "shown"
    assert fake.shown("a")["trivet/join"] == "success"


def test_a_head_that_two_branches_were_offered_is_green_again_when_one_offer_ends() -> None:
    fake = FakeGitHub()
    service = keeper(fake, Judge(good={"a"}))
    fake.open(7, head="a")
    deliver(fake, service)
    fake.open(8, head="a", base_ref="release")
    deliver(fake, service)
    assert fake.shown("a")["trivet/join"] != "success"
    fake.close(8)
    deliver(fake, service)
    service.reconcile()
    assert fake.shown("a")["trivet/join"] == "success"


def test_a_change_of_members_judges_all_open_changes_again() -> None:
    fake, judge = FakeGitHub(), Judge(oracle={"o"}, owners=set())
    service = Keeper(github(fake), judge, teams=lambda _subject: ("acme/quality",))
    fake.teams["acme/quality"] = ["rosa"]
    fake.open(3, head="o")
    fake.review(3, "rosa")
    deliver(fake, service)
    assert fake.shown("o")["trivet/join"] == "success"
    fake.teams["acme/quality"] = []
    fake._deliver("membership", "removed", None)
    deliver(fake, service)
    assert fake.shown("o")["trivet/join"] == "failure"


@pytest.mark.parametrize("seed", range(LIVES))
def test_random_lives_end_in_the_recomputed_state(seed: int) -> None:
    """Deliveries are lost, doubled, late and shuffled; calls fail at random; a poll at the end looks everywhere."""
    chance = random.Random(seed)
    good = {f"h{number}" for number in range(0, 40, 3)}
    oracle = {f"h{number}" for number in range(1, 40, 3)}
    fake, judge = FakeGitHub(), Judge(good=good, oracle=oracle)
    service, late, head = keeper(fake, judge), [], 0
    for number in range(1, 4):
        fake.open(number, head=f"h{(head := head + 1)}")
    for _ in range(30):
        number = chance.randrange(1, 4)
        match chance.choice(["push", "push", "approve", "object", "stranger", "retarget"]):
            case "push":
                fake.push(number, f"h{(head := head + 1) % 40}")
            case "approve":
                fake.review(number, "rosa")
            case "object":
                fake.review(number, "rosa", "CHANGES_REQUESTED")
            case "stranger":
                fake.review(number, "kim")
            case "retarget":
                fake.retarget(number, chance.choice(["main", "main", "release"]))
        taken = [row for row in fake.take() if chance.random() > 0.25]
        late += [row for row in taken for _ in range(chance.choice([1, 1, 2, 3]))]
        chance.shuffle(late)
        while late and chance.random() < 0.7:
            fake.faults.extend(chance.choice([*BUSY, "unreachable", "lost", "", "", "", ""]) for _ in range(chance.randrange(6)))
            headers, body = late.pop()
            try:
                service.handle(github_event(headers, body, (SECRET,)))
            except TrivetError:
                continue
    fake.faults.clear()
    service.reconcile()
    expected = Judge(good=good, oracle=oracle)
    forge = github(fake)
    subjects = {number: forge.subject(number) for number in fake.pulls}
    for number, subject in subjects.items():
        name = next(f"h{n}" for n in range(40) if oid(f"h{n}") == subject.head)
        shared = [one for other, one in subjects.items() if other != number and one.head == subject.head and one.base_ref != subject.base_ref]
        merges = expected(subject, forge.complete(subject, forge.approvals(subject), ())).merge and not shared
        assert (fake.shown(name).get("trivet/join") == "success") == merges, (number, name, fake.shown(name))
        assert sum(row["issue"] == number for row in fake.comments) <= 1
    judged_good = {oid(name) for name in good | oracle}
    assert set(fake.green) <= judged_good
