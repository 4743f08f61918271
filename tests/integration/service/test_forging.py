"""What comes from a forge is looked up there, asked for once, and shown for exactly what was judged."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from repos import VERDICTS, Repo
from trivet.errors import ServiceError
from trivet.forge.words import Event, Evidence, Published, Subject
from trivet.report.document import decision_of
from trivet.service import reading
from trivet.service.asking import REVIEW, SUBJECT
from trivet.service.forging import Forging, maker, wanted
from trivet.service.mirrors import Mirrors
from trivet.service.rows import ScoreRow
from trivet.service.settings import Fetch, settings_of
from trivet.service.store import Decided, Store, decide, finish, keep_evidence, score


class FakeForge:
    """A forge that knows changes and writes down what it was told."""

    def __init__(self) -> None:
        self.changes: dict[int, Subject] = {}
        self.evidence = Evidence(author="mona", approvals=())
        self.told: list[tuple] = []
        self.stale = ""

    def subject(self, number: int) -> Subject:
        return self.changes[number]

    def current(self, subject: Subject) -> Subject | None:
        return self.changes.get(subject.number or 0)

    def open_changes(self) -> tuple[Subject, ...]:
        return tuple(self.changes.values())

    def approvals(self, subject: Subject) -> Evidence:
        self.told.append(("approvals", subject.name))
        return self.evidence

    def complete(self, subject: Subject, evidence: Evidence, teams: tuple[str, ...], *, fresh: bool = True) -> Evidence:
        return replace(evidence, teams=tuple((team, ("mona",)) for team in teams))

    def begin(self, subject: Subject) -> Published:
        self.told.append(("begin", subject.name))
        return Published()

    def finish(self, subject: Subject, decision, *, evidence: Evidence | None = None) -> Published:
        assert evidence is not None, "an oracle change's approvals are looked at once more"
        self.told.append(("finish", subject.name, decision.merge))
        return Published(wrote=("trivet/join",), stale=self.stale)

    def comment(self, subject: Subject, decision, *, always: bool = False) -> Published:
        self.told.append(("comment", subject.name))
        return Published()


class Jobs:
    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def enqueue(self, score: ScoreRow, *, priority: int) -> None:
        self.told.append((score.id, str(priority)))

    def cancel(self, identity: str) -> None:
        self.told.append((identity, "cancel"))

    def look(self, key: str, repo: str, event: Event) -> None:
        raise AssertionError

    def ready(self) -> bool:
        return True


class World:
    def __init__(self, store: Store, folder: Path) -> None:
        self.origin = Repo(folder / "origin")
        self.base = self.origin.commit({**VERDICTS, ".github/CODEOWNERS": "/tests/ @org/oracles\n"})
        self.origin.git("checkout", "-q", "-b", "topic")
        self.head = self.origin.commit({"src/pkg/core.py": "def double(n):\n    return n + n\n"})
        self.settings = settings_of({"schema": 1, "fetch": {"protocols": ["file"]}, "forges": {"github": {"token_file": "t"}}, "repositories": [{"name": "alpha", "url": str(self.origin.root), "forge": "github", "forge_name": "org/alpha"}]}, folder)  # fmt: skip
        self.repo = self.settings.repositories[0]
        self.store, self.jobs, self.forge = store, Jobs(), FakeForge()
        self.clock = lambda: 100.0
        self.forging = Forging(settings=self.settings, store=store, make=lambda _repo: self.forge)
        self.mirrors = Mirrors(folder=folder / "mirrors", limits=Fetch(protocols=("file",)))
        self.forge.changes[7] = Subject(number=7, head=self.head, base=self.base, base_ref="main", author="mona")

    def look(self, number: int | None = 7, queued: Subject | None = None) -> str:
        return self.forging.look(self, self.mirrors, self.repo, number=number, queued=queued, source="webhook")

    def decided(self, identity: str, *, merge: bool = True) -> ScoreRow:
        word = "PASS" if merge else "FAIL"
        verdicts = {leg: {"status": word if leg == "src-score" else "PASS", "cause": "", "findings": []} for leg in ("src-score", "oracle-integrity", "flake-lease")}
        keep_evidence(self.store, identity, {"decision.json": json.dumps({"schema": 1, "verdicts": verdicts, "merge": merge}).encode()})
        decide(self.store, identity, Decided(merge=merge, src_score=word, oracle_integrity="PASS", flake_lease="PASS", kind="patch"), 101.0)
        finish(self.store, identity, 102.0)
        return score(self.store, identity)


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    return World(store, tmp_path)


def test_a_change_is_judged_with_what_the_forge_says_of_its_authorship(world: World) -> None:
    identity = world.look()
    row = score(world.store, identity)
    assert (row.base, row.head, row.ref, row.source) == (world.base, world.head, "pull/7", "webhook")
    review = json.loads(reading.evidence(world.store, row.n, REVIEW))
    assert review == {"author": "mona", "teams": {"org/oracles": ["mona"]}, "labels": [], "approvals": []}
    assert msgspec.json.decode(reading.evidence(world.store, row.n, SUBJECT), type=Subject) == world.forge.changes[7]
    assert world.look() == identity, "the same change with the same approvals is the same question"


def test_a_new_approval_is_a_new_question(world: World) -> None:
    first = world.look()
    world.forge.evidence = Evidence(author="mona", approvals=(("ada", world.head),))
    second = world.look()
    assert second != first
    assert score(world.store, first).state == "queued", "same head: the older one is not superseded by its own head"


def test_closed_changes_and_other_branches_are_left_alone(world: World) -> None:
    world.forge.changes[7] = replace(world.forge.changes[7], is_open=False)
    assert world.look() == ""
    world.forge.changes[7] = replace(world.forge.changes[7], is_open=True, base_ref="release")
    assert world.look() == ""
    assert not world.jobs.told


def test_a_change_that_is_gone_is_not_judged_any_more(world: World) -> None:
    identity = world.look()
    world.forging.close(world, world.repo, "pull/7")
    assert score(world.store, identity).state == "cancelled"
    assert (identity, "cancel") in world.jobs.told


def test_a_decision_is_shown_where_a_forge_asked_and_nowhere_else(world: World) -> None:
    row = world.decided(world.look())
    decision = decision_of(json.loads(reading.evidence(world.store, row.n, "decision.json")))
    world.forging.begin(world.repo, row)
    assert world.forging.finish(world.repo, row, decision) == "shown on #7: trivet/join"
    assert world.forge.told[-3:] == [("begin", "#7"), ("finish", "#7", True), ("comment", "#7")]
    world.forge.stale = "head moved on"
    assert "not shown on #7: head moved on" in world.forging.finish(world.repo, row, decision)
    assert world.forge.told[-1][0] == "finish", "no comment about what is stale"


def test_what_stands_already_is_shown_again(world: World) -> None:
    identity = world.look()
    world.decided(identity, merge=False)
    world.forge.told.clear()
    assert world.look() == identity
    assert ("finish", "#7", False) in world.forge.told


def test_a_poll_finds_what_no_delivery_told_and_leaves_settled_patches(world: World) -> None:
    assert world.forging.unsettled(world.repo) == (world.forge.changes[7],)
    identity = world.look()
    assert world.forging.unsettled(world.repo) == (), "it is on its way"
    world.decided(identity)
    assert world.forging.unsettled(world.repo) == ()
    world.forge.changes[7] = replace(world.forge.changes[7], head="d" * 40)
    assert [subject.head for subject in world.forging.unsettled(world.repo)] == ["d" * 40]


def test_an_entry_of_the_merge_queue_comes_first(world: World) -> None:
    queued = Subject(number=None, head=world.head, base=world.base, base_ref="main", queue_ref=f"gh-readonly-queue/main/pr-7-{world.base}")
    row = score(world.store, world.look(None, queued))
    assert (row.source, row.ref) == ("merge-queue", f"queue/{queued.queue_ref}")
    assert world.jobs.told == [(row.id, "1")]


def test_deliveries_about_nothing_are_not_wanted() -> None:
    assert wanted(Event(kind="change", delivery="d", number=1))
    assert not wanted(Event(kind="change", delivery="d"))
    assert not wanted(Event(kind="queue", delivery="d"))
    assert not wanted(Event(kind="ping", delivery="d", number=1))


def test_a_forge_without_settings_is_one_clear_error(world: World, tmp_path: Path) -> None:
    bare = settings_of({"schema": 1, "repositories": [{"name": "a", "url": "https://x/a", "forge": "gitlab", "forge_name": "o/a"}, {"name": "b", "url": "https://x/b", "forge": "github", "forge_name": "o/b"}], "forges": {"github": {}}}, tmp_path)
    for repo in bare.repositories:
        with pytest.raises(ServiceError):
            maker(bare)(repo)
