"""What the tests of forges share: an adapter on a fake, and decisions about named heads."""

from __future__ import annotations

import httpx

from fakes.github import LOGIN, TOKEN, FakeGitHub, oid
from trivet.forge.github import GitHub
from trivet.forge.wire import Patience
from trivet.forge.words import Evidence, Subject
from trivet.model import Decision, Finding, Verdict


def github(fake: FakeGitHub, *, waits: list[float] | None = None, login: str = LOGIN, **more: object) -> GitHub:
    slept = [] if waits is None else waits
    return GitHub(
        "https://git.example.org/api/v3",
        "acme/rates",
        token=lambda: TOKEN,
        login=login,
        patience=Patience(total_s=90.0),
        transport=httpx.MockTransport(fake.handler),
        sleep=slept.append,
        jitter=lambda: 1.0,
        **more,
    )


def decision(head: str, *, good: bool = True, advisory: bool = False) -> Decision:
    found = () if good else (Finding(rule="TRV201", message="<b>2 == 3</b> @everyone", path=b"tests/sealed/test_a.py", line=3),)
    facts: dict[str, object] = {"head": {"commit": oid(head), "tree": oid("t")}, "base": {"commit": oid("main"), "tree": oid("t")}}
    if advisory:
        facts["advisory"] = {"counts": {"passed": 2}, "notes": []}
    return Decision(
        src_score=Verdict(leg="src-score", status="PASS" if good else "FAIL", findings=found, cause="" if good else "property"),
        oracle_integrity=Verdict(leg="oracle-integrity", status="PASS"),
        flake_lease=Verdict(leg="flake-lease", status="PASS"),
        facts=facts,
    )


class Judge:
    """Judges by name: heads in ``good`` merge; heads in ``oracle`` merge when an owner approved exactly them."""

    def __init__(self, *, good: set[str] = frozenset(), oracle: set[str] = frozenset(), owners: set[str] = frozenset({"rosa"})) -> None:
        self.good, self.oracle, self.owners = {oid(name): name for name in good}, {oid(name): name for name in oracle}, owners
        self.seen: list[tuple[str, Evidence]] = []

    def __call__(self, subject: Subject, evidence: Evidence) -> Decision:
        self.seen.append((subject.head, evidence))
        name = self.good.get(subject.head) or self.oracle.get(subject.head) or ""
        fine = subject.head in self.good
        if subject.head in self.oracle:
            people = self.owners | {login for _, rows in evidence.teams for login in rows}
            fine = evidence.author in people or any(login in people and commit == subject.head for login, commit in evidence.approvals)
        made = decision(name or "?", good=fine)
        return Decision(
            src_score=made.src_score, oracle_integrity=made.oracle_integrity, flake_lease=made.flake_lease,
            facts={**made.facts, "head": {"commit": subject.head}},
        )  # fmt: skip
