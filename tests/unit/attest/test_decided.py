"""Signed decisions: what they say, and what is refused although the key is right."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from trivet import attest, model
from trivet.attest.decided import decision_of, leg_of
from trivet.attest.envelope import canonical, sign
from trivet.attest.statement import leg_file_statement, vsa_statement
from trivet.errors import SignatureError
from trivet.verifying import Wanted, answer
from unit.attest.made import BASE, HEAD, KEY, NOW, document, envelope, leg_file, statement, trust

NOBODY = Wanted()


def test_a_signed_decision_is_read_back() -> None:
    """Everything that binds it is there."""
    found = answer(envelope(), trust(), NOBODY, now=NOW)
    assert (found.merge, found.head, found.base, found.time) == (True, HEAD, BASE, "2026-09-21T14:13:20Z")
    assert found.properties == (
        "TRIVET_FLAKE_LEASE", "TRIVET_ORACLE_INTEGRITY", "TRIVET_SRC_SCORE", "TRIVET_MERGE_OK",
        "TRIVET_WALL_KERNEL", "TRIVET_ISOLATION_SPLIT", "TRIVET_CONTROLS",
    )  # fmt: skip
    assert found.statement["subject"] == [
        {"name": "head", "digest": {"gitCommit": HEAD}},
        {"name": "head-tree", "digest": {"gitTree": "e" * 40}},
        {"name": "scoring-tree", "digest": {"gitTree": "f" * 40}},
    ]
    bound = {name: found.facts[name] for name in ("isolation", "controls", "replay_key", "repository")}
    assert bound == {"isolation": {"split": 1}, "controls": {"red": 4}, "replay_key": "2" * 64, "repository": "https://forge.example/o/r"}
    assert found.facts["wall"]["name"] == "kernel"
    assert found.facts["policy"]["digest"] == "1" * 64


@pytest.mark.parametrize("status", ["FAIL", "NOT_RUN"])
def test_a_refusal_is_signed_as_well(status: str) -> None:
    """A blocked decision verifies and stays blocked."""
    found = answer(envelope(document(src_score=status)), trust(), NOBODY, now=NOW)
    assert (found.merge, found.statuses["src-score"], "TRIVET_SRC_SCORE" in found.properties) == (False, status, False)
    assert not {"TRIVET_WALL_KERNEL", "TRIVET_CONTROLS", "TRIVET_MERGE_OK"} & set(found.properties)


def _inner(leg: int, **values: Any) -> Any:
    return lambda s, f: f["legs"][leg]["predicate"][attest.EXTENSION].update(values)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda s, f: f["statuses"].update({"src-score": "PASS"}), "contradicts itself"),
        (lambda s, f: f.update(merge=True), "contradicts itself"),
        (lambda s, f: s["predicate"]["properties"].append("TRIVET_MERGE_OK"), "contradicts itself"),
        (lambda s, f: s["predicate"]["properties"].append("TRIVET_ISOLATION_SPLIT"), "contradicts itself"),
        (lambda s, f: s["subject"][0]["digest"].update(gitCommit="0" * 40), "subjects are not"),
        (lambda s, f: s["subject"][2]["digest"].update(gitTree="0" * 40), "subjects are not"),
        (lambda s, f: s["predicate"]["verifier"]["policies"][0]["digest"].update(sha256="0" * 64), "policy is not"),
        (lambda s, f: f.update(base={"commit": "0" * 40, "tree": "0" * 40}), "base differs"),
        (lambda s, f: f.update(repository="https://forge.example/o/fork"), "repository differs"),
        (lambda s, f: f.update(session="7"), "session differs"),
        (lambda s, f: f.update(replay_key="0" * 64), "replay_key differs"),
        (lambda s, f: f.update(replay_key="0"), "documented form"),
        (lambda s, f: f["legs"].pop(), "documented form"),
        (lambda s, f: f["legs"].reverse(), "not of flake-lease"),
        (lambda s, f: f["legs"][2]["predicate"].update(result="PASSED"), "contradicts its status"),
        (lambda s, f: f["legs"][0]["predicate"].update(failedTests=["TRV301"]), "names failed rules"),
        (lambda s, f: f["legs"][0].update(predicateType=attest.SVR), "no test result"),
        (_inner(0, policy={"digest": "0" * 64, "source": "x"}), "policy is not"),
        (_inner(0, status="NOT_RUN"), "contradicts its status"),
        (_inner(0, timeCreated="2027-01-01T00:00:00Z"), "younger than the decision"),
        (_inner(0, timeCreated="2026-9-21T14:13:20Z"), "documented form"),
        (_inner(0, verdict_sha256="0"), "documented form"),
        (lambda s, f: s["predicate"].pop(attest.EXTENSION), "documented form"),
        (lambda s, f: s["predicate"].update(more=1), "documented form"),
        (lambda s, f: s["predicate"].update(timeCreated="2026-02-30T00:00:00Z"), "documented form"),
        (lambda s, f: s.update(predicateType=attest.TEST_RESULT), "no joined decision"),
        (lambda s, f: s.update(_type="https://in-toto.io/Statement/v0.1"), "no in-toto Statement v1"),
    ],
)  # fmt: skip
def test_a_signed_statement_that_contradicts_itself_is_refused(change: Any, reason: str) -> None:
    """Even the right key does not make parts of two judgements into one."""
    made = copy.deepcopy(statement(document(src_score="FAIL")))
    change(made, made["predicate"][attest.EXTENSION])
    with pytest.raises(SignatureError, match=reason):
        answer(sign(made, KEY), trust(), NOBODY, now=NOW)


def test_a_leg_statement_fails_for_whatever_is_not_a_pass() -> None:
    """NOT_RUN is FAILED for a consumer of test results, and the rules that failed are named."""
    found = [leg_file_statement(leg_file("src-score", document(src_score=word)), "src-score", now=NOW) for word in ("PASS", "FAIL", "NOT_RUN")]
    assert [row["predicate"]["result"] for row in found] == ["PASSED", "FAILED", "FAILED"]
    assert [row["predicate"]["failedTests"] for row in found] == [[], ["TRV201"], []]


def test_a_statement_of_one_leg_is_not_one_of_another_and_no_decision() -> None:
    """Each statement answers for itself alone."""
    opened = trust().open(sign(leg_file_statement(leg_file("src-score"), "src-score", now=NOW), KEY))
    assert leg_of(opened, "src-score").status == "PASS"
    with pytest.raises(SignatureError, match="not of flake-lease"):
        leg_of(opened, "flake-lease")
    with pytest.raises(SignatureError, match="no joined decision"):
        decision_of(opened)
    with pytest.raises(SignatureError, match="no verdict of one leg"):
        leg_of(trust().open(envelope()), "src-score")


@pytest.mark.parametrize("content", [b"{}", b"[]", b'{"leg": "src-score"}', b'{"leg": "flake-lease"}', b'{"leg": "src-score", "leg": "src-score"}'])
def test_a_file_that_is_no_verdict_of_the_leg_is_not_signed(content: bytes) -> None:
    """Nothing is signed that does not say what it is about."""
    with pytest.raises(SignatureError):
        leg_file_statement(content, "src-score", now=NOW)


def test_a_summary_for_slsa_names_all_that_it_stands_on() -> None:
    """Own levels do not begin with SLSA_, a refusal has the one level FAILED, and every input has its digest."""
    passed = vsa_statement(statement(), {"a.json": b"a", "b.json": b"b"})["predicate"]
    assert (passed["verificationResult"], passed["resourceUri"]) == ("PASSED", f"git+https://forge.example/o/r@{HEAD}")
    assert not [level for level in passed["verifiedLevels"] if level.startswith("SLSA_")]
    assert [set(row) for row in passed["inputAttestations"]] == [{"uri", "digest"}] * 2
    assert passed["policy"]["digest"] == {"sha256": "1" * 64}
    failed = vsa_statement(statement(document(flake_lease="NOT_RUN")), {})["predicate"]
    assert (failed["verificationResult"], failed["verifiedLevels"]) == ("FAILED", ["FAILED"])


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (Wanted(repository="https://forge.example/o/fork"), "about repository"),
        (Wanted(base="0" * 40), "about base"),
        (Wanted(head="0" * 40), "about head"),
        (Wanted(policy="0" * 64), "used policy"),
        (Wanted(session="2"), "of session"),
        (Wanted(max_age_s=10), "stale"),
    ],
)
def test_a_decision_is_not_replayed_onto_something_else(wanted: Wanted, reason: str) -> None:
    """Another repository, base, head, policy or run, or one of long ago."""
    same = Wanted(repository="https://forge.example/o/r", base=BASE, head=HEAD, policy="sha256:" + "1" * 64)
    assert answer(envelope(), trust(), same, now=NOW).merge
    with pytest.raises(SignatureError, match=reason):
        answer(envelope(), trust(), wanted, now=NOW + 11)


def test_the_legs_are_those_of_the_model() -> None:
    """The names are kept twice, and are the same."""
    assert attest.LEGS == model.LEGS


def test_there_is_one_way_to_write_a_statement() -> None:
    """Whatever the order of keys in memory."""
    made = statement()
    assert canonical(made) == canonical(dict(reversed(made.items())))
