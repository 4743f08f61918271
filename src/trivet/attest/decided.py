"""What an opened statement means: the decision it answers, or the reason why it is not one.

The right key does not make parts of two judgements into one, and a signer can be mistaken: everything that a statement says twice must
agree, and all of it must be of the documented form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from trivet.attest import EXTENSION, LEGS, STATEMENT, SVR, TEST_RESULT
from trivet.attest.envelope import Opened
from trivet.attest.statement import BOUND, NO_POLICY, policies, properties, subjects
from trivet.attest.times import read
from trivet.errors import SignatureError

_OID = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_STATUSES = ("PASS", "FAIL", "NOT_RUN")
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError)


class Leg(NamedTuple):
    """What the signed statement of one leg says. ``at`` is its claimed time in seconds since the epoch."""

    leg: str
    key: str
    at: int
    status: str
    facts: Mapping[str, Any]
    statement: Mapping[str, Any]


class Attested(NamedTuple):
    """What the signed statement of a decision says. ``properties`` are those that passed; ``facts`` is the extension field."""

    key: str
    time: str
    at: int
    head: str
    base: str
    merge: bool
    statuses: Mapping[str, str]
    properties: tuple[str, ...]
    facts: Mapping[str, Any]
    statement: Mapping[str, Any]
    legs: tuple[Leg, ...]


def decision_of(opened: Opened) -> Attested:
    """Read the statement of a joined decision.

    Raises:
        SignatureError: it is none, is not of the documented form, or contradicts itself.
    """
    if opened.statement.get("predicateType") != SVR:
        raise SignatureError(f"the statement is no joined decision but {opened.statement.get('predicateType')!r}")
    try:
        return _decision(opened)
    except _MALFORMED as error:
        raise SignatureError(f"the signed statement is not of the documented form: {_said(error)}") from error


def leg_of(opened: Opened, leg: str) -> Leg:
    """Read the statement of one leg.

    Raises:
        SignatureError: it is of something else, is not of the documented form, or contradicts itself.
    """
    if opened.statement.get("predicateType") != TEST_RESULT:
        raise SignatureError(f"the statement is no verdict of one leg but {opened.statement.get('predicateType')!r}")
    try:
        return _leg(opened.statement, leg, opened.key)
    except _MALFORMED as error:
        raise SignatureError(f"the signed statement of {leg} is not of the documented form: {_said(error)}") from error


def _decision(opened: Opened) -> Attested:
    statement = opened.statement
    _exactly(statement, {"_type", "subject", "predicateType", "predicate"}, "statement")
    predicate = statement["predicate"]
    _exactly(predicate, {"verifier", "timeCreated", "properties", EXTENSION}, "predicate")
    facts = predicate[EXTENSION]
    statuses: dict[str, str] = {leg: _one_of(facts["statuses"][leg], _STATUSES) for leg in LEGS}
    merge = all(status == "PASS" for status in statuses.values())
    if facts["merge"] is not merge or predicate["properties"] != properties(facts):
        raise SignatureError("the statement contradicts itself: properties, statuses and merge do not agree")
    _check_facts(statement, facts)
    if predicate["verifier"]["policies"] != policies(facts):
        raise SignatureError("the statement contradicts itself: its policy is not the one that was judged by")
    _sha256(facts["decision_sha256"])
    at = read(predicate["timeCreated"])
    legs = []
    for leg, inner in zip(LEGS, facts["legs"], strict=True):
        own = _leg(inner, leg, str(facts["leg_keys"].get(leg, opened.key)))
        _check_same(own, facts, statuses[leg], at)
        legs.append(own)
    return Attested(
        key=opened.key,
        time=predicate["timeCreated"],
        at=at,
        head=facts["head"]["commit"],
        base=facts["base"]["commit"],
        merge=merge,
        statuses=statuses,
        properties=tuple(predicate["properties"]),
        facts=facts,
        statement=statement,
        legs=tuple(legs),
    )


def _leg(statement: Mapping[str, Any], leg: str, key: str) -> Leg:
    _exactly(statement, {"_type", "subject", "predicateType", "predicate"}, "statement")
    if statement["_type"] != STATEMENT or statement["predicateType"] != TEST_RESULT:
        raise SignatureError(f"the statement of {leg} is no test result")
    predicate = statement["predicate"]
    _exactly(predicate, {"result", "configuration", "failedTests", EXTENSION}, "predicate")
    facts = predicate[EXTENSION]
    if facts["leg"] != leg:
        raise SignatureError(f"this is a statement of {facts['leg']!r}, not of {leg}")
    status = _one_of(facts["status"], _STATUSES)
    if predicate["result"] != ("PASSED" if status == "PASS" else "FAILED"):
        raise SignatureError(f"the statement of {leg} contradicts its status")
    if not isinstance(predicate["failedTests"], list) or (status == "PASS" and predicate["failedTests"]):
        raise SignatureError(f"the statement of {leg} contradicts its status: a PASS names failed rules")
    if predicate["configuration"] != (policies(facts) or [{"uri": NO_POLICY}]):
        raise SignatureError(f"the statement of {leg} contradicts itself: its policy is not the one that was judged by")
    _check_facts(statement, facts)
    if facts["verdict_sha256"]:
        _sha256(facts["verdict_sha256"])
    return Leg(leg=leg, key=key, at=read(facts["timeCreated"]), status=status, facts=facts, statement=statement)


def _check_facts(statement: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """Ids have the form of ids, and the subjects are what the facts name."""
    for commit in (facts["base"], facts["head"]):
        _exactly(commit, {"commit", "tree"}, "commit")
        for oid in commit.values():
            _matches(oid, _OID, "object id")
    if facts["score_tree"] is not None:
        _matches(facts["score_tree"], _OID, "object id")
    if facts["policy"] is not None:
        _sha256(str(facts["policy"]["digest"]).removeprefix("sha256:"))
    if facts["replay_key"] is not None:
        _sha256(str(facts["replay_key"]).removeprefix("sha256:"))
    if facts["repository"] is not None and not (isinstance(facts["repository"], str) and facts["repository"]):
        raise ValueError("the repository is neither a name nor null")
    if not isinstance(facts["session"], str):
        raise TypeError("the session is no text")
    if statement["subject"] != subjects(facts):
        raise SignatureError("the statement contradicts itself: its subjects are not what was judged")


def _check_same(own: Leg, facts: Mapping[str, Any], status: str, at: int) -> None:
    """The embedded statement of a leg is about the same judgement, and is no later than the join."""
    leg = own.leg
    # Only src-score's own run is the one that the decision tells about; flake-lease may have run on another host, with another key.
    names = [*BOUND, "session", *(["replay_key"] if leg == "src-score" else [])]
    names += ["score_tree"] if own.facts["score_tree"] is not None else []
    for name in names:
        if own.facts[name] != facts[name]:
            raise SignatureError(f"the statement of {leg} does not belong to this decision: {name} differs")
    if own.status != status:
        raise SignatureError(f"the statement of {leg} says {own.status}, the decision says {status}")
    if own.at > at:
        raise SignatureError(f"the statement of {leg} is younger than the decision that stands on it")


def _exactly(value: Mapping[str, Any], names: set[str], what: str) -> None:
    if not isinstance(value, dict) or set(value) != names:
        raise ValueError(f"the {what} does not have exactly {', '.join(sorted(names))}")


def _one_of(value: object, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{value!r} is none of {', '.join(allowed)}")
    return value


def _sha256(value: object) -> None:
    _matches(value, _SHA256, "SHA-256 digest")


def _matches(value: object, form: re.Pattern[str], what: str) -> None:
    if not isinstance(value, str) or not form.match(value):
        raise ValueError(f"{value!r} is no {what}")


def _said(error: Exception) -> str:
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
