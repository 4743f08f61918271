"""The life of pull requests with the real gate: real commits, real runs behind the wall, a fake forge."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fakes.github import SECRET, FakeGitHub
from repos import Repo
from trivet.forge.events import github_event
from trivet.forge.keeper import Keeper
from trivet.forge.words import Evidence, Subject
from trivet.gate import GateRequest, judge
from trivet.git import open_repository
from trivet.model import Decision
from trivet.reviewing import carried, named_teams
from unit.forge.worlds import github

SEALED = "from shop import price\n\n\ndef test_double():\n    assert price({0}) == {1}\n"
BASE = {
    ".github/CODEOWNERS": "* @devs\n/tests/sealed/ @acme/quality\n",
    "src/shop/__init__.py": "def price(n):\n    return n * 2\n",
    "tests/sealed/test_price.py": SEALED.format(2, 4),
    "tests/sealed/MANIFEST.txt": "tests/sealed/test_price.py\n",
    "ci/flake_leases.json": '{"leases": []}\n',
}


class Desk:
    """A repository, the forge that shows it, and the gate between them."""

    def __init__(self, root: Path) -> None:
        self.repo, self.fake, self.review = Repo(root / "repo"), FakeGitHub(), root / "review.json"
        self.fake.teams["acme/quality"] = ["rosa"]
        self.cache = root / "cache"
        self.moved(self.repo.commit(BASE))
        self.keeper = Keeper(github(self.fake), self.judge, teams=self.teams, carry=self.carry)

    def moved(self, tip: str) -> None:
        self.fake.tips["main"] = tip

    def branch(self, name: str, files: dict[str, str]) -> str:
        self.repo.git("checkout", "-q", "-B", name, self.fake.tips["main"])
        head = self.repo.commit(files)
        self.repo.git("checkout", "-q", "main")
        return head

    def judge(self, subject: Subject, evidence: Evidence) -> Decision:
        self.review.write_text(json.dumps(evidence.document()))
        request = GateRequest(
            repo=self.repo.root, base=subject.base, head=subject.head, now=1_790_000_000.0, python=sys.executable, review=self.review,
            cache=self.cache, advisory=False, isolation="shared", controls="off",
        )  # fmt: skip
        return judge(request)

    def teams(self, subject: Subject) -> tuple[str, ...]:
        with open_repository(self.repo.root) as repository:
            return named_teams(repository, subject.base)

    def carry(self, queued: Subject, pull: Subject, evidence: Evidence) -> Evidence:
        with open_repository(self.repo.root) as repository:
            return carried(repository, queued, pull, evidence)

    def deliver(self) -> None:
        for headers, body in self.fake.take():
            self.keeper.handle(github_event(headers, body, (SECRET,)))

    def join(self, head: str) -> str:
        return self.fake.shown(head)["trivet/join"]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_patch_is_red_then_fixed_then_green_and_only_the_fix_ever_was(desk: Desk) -> None:
    wrong = desk.branch("wrong", {"src/shop/__init__.py": "def price(n):\n    return n * 3\n"})
    desk.fake.open(7, head=wrong)
    desk.deliver()
    assert desk.join(wrong) == "failure"
    assert desk.fake.shown(wrong)["trivet/src-score"] == "failure"
    assert "test\\_double" in desk.fake.comments[0]["body"] or "test_double" in desk.fake.comments[0]["body"]
    right = desk.branch("right", {"src/shop/__init__.py": "def price(n):\n    return n + n\n"})
    desk.fake.push(7, right)
    desk.deliver()
    assert set(desk.fake.shown(right).values()) == {"success"}
    assert set(desk.fake.green) == {right}
    assert len(desk.fake.comments) == 1


def test_an_oracle_change_waits_for_its_owner_and_carries_the_approval_into_the_queue(desk: Desk) -> None:
    oracle = desk.branch("oracle", {"tests/sealed/test_price.py": SEALED.format(3, 6)})
    desk.fake.open(8, head=oracle)
    desk.deliver()
    assert (desk.join(oracle), desk.fake.shown(oracle)["trivet/oracle-integrity"]) == ("failure", "failure")
    desk.fake.review(8, "rosa")
    desk.deliver()
    assert desk.join(oracle) == "success"
    desk.moved(desk.repo.commit({"README.md": "# moved on\n"}))
    desk.repo.git("checkout", "-q", "-B", "queue", "main")
    desk.repo.git("merge", "-q", "--no-ff", "-m", "queue", "oracle")
    queued = desk.repo.git("rev-parse", "HEAD")
    desk.fake.queue(8, queued)
    desk.deliver()
    assert desk.join(queued) == "success"
    more = desk.repo.commit({"tests/sealed/test_price.py": SEALED.format(0, 0)})
    desk.fake.queue(8, more)
    desk.deliver()
    assert desk.join(more) == "failure"
    assert set(desk.fake.green) == {oracle, queued}
