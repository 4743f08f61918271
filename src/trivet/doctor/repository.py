"""The checks of a repository: what decides, who may change it, and whether CI and forge let it decide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trivet.doctor import oracles, people, required, workflows
from trivet.doctor.words import Check, Problem, told, unseen
from trivet.errors import TrivetError
from trivet.git import Tree
from trivet.model import Policy
from trivet.sealed.policy import read_policy
from trivet.zones import Zones

ADOPTED = (b"trivet.toml", b".pyrefix-lanes.toml", b"tests/sealed", b"tests/oracles")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be looked at.

    ``agents``: logins that may write production code and must own no oracle; ``expiry_days``: how near an end is near; ``check``: the name
    of the required check; ``branch``: the protected branch; ``rules``: what the forge or an export says about it, None where nobody asked.
    """

    now: float
    agents: tuple[str, ...] = ()
    expiry_days: float = 14.0
    check: str = "trivet/join"
    branch: str = "main"
    rules: tuple[object, ...] | None = None


def examine(tree: Tree, question: Question) -> tuple[Check, ...]:
    """Look at one tree; whatever cannot be read is a check of its own, and the others go on."""
    if not any(tree.entries((name,)) for name in ADOPTED):
        return (unseen("policy", "this repository has not adopted trivet", "trivet init, then trivet seal"),)
    checks: list[Check] = []
    try:
        policy = read_policy(tree)
    except TrivetError as error:
        problem = Problem(detail=error.message, remedy=error.hint or "an owner mends the policy", place=error.where)
        return tuple(told("policy", [problem], held=""))
    checks += told("policy", oracles.weakened(policy), held=policy.source)
    for part in (_of_oracles, _of_people, _of_forge):
        try:
            checks += part(tree, policy, question)
        except TrivetError as error:
            problem = Problem(detail=error.message, remedy=error.hint or "mend what the message names", place=error.where)
            checks += told(part.__name__.rpartition("_")[2], [problem], held="")
    return tuple(checks)


def _of_oracles(tree: Tree, policy: Policy, question: Question) -> Iterator[Check]:
    seen = oracles.look(tree, policy, Zones(policy.zones))
    yield from told("oracles", oracles.presence(seen), held=f"{len(seen.seal.tests)} sealed test files, in step with their manifests")
    yield from told("vacuous oracles", oracles.vacuous(seen), held=f"{len(seen.properties)} sealed properties, each of which can fail")
    yield from told("clock and network", oracles.outside(seen), held="no sealed test asks real time, the network or unseeded chance")
    yield from told("snapshots", oracles.snapshots(seen), held="sealed tests state what they expect")
    yield from told(
        "leases", oracles.leases(tree, policy, seen, question.now, question.expiry_days), held="no lease is spent or near its end"
    )


def _of_people(tree: Tree, policy: Policy, question: Question) -> Iterator[Check]:
    seen = people.look(tree, policy, Zones(policy.zones))
    yield from told("gate files", people.writable(seen), held="what decides lies in zones that a patch may not move")
    yield from told("CODEOWNERS", people.silent(seen), held=seen.owners.path or "none; the signers file alone says who owns")
    yield from told("owners", people.unowned(seen, question.agents), held="every sealed path and gate file has an owner")


def _of_forge(tree: Tree, _policy: Policy, question: Question) -> Iterator[Check]:
    yield from workflows.checks(tree, question.check)
    yield from required.checks(question.rules, check=question.check, branch=question.branch)
