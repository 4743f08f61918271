"""Makes statements: one ``test-result/v0.1`` per leg, the Simple Verification Result (SVR v0.2) of the join, a SLSA VSA on request.

An SVR names only what passed, so the statements of the legs, the refusals and everything the verdict was about stand in the extension
field ``EXTENSION`` of the same signed payload. Whoever holds that one envelope can answer the decision.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from trivet.attest import EXTENSION, LEGS, MERGE_OK, STATEMENT, SVR, TEST_RESULT, VSA, Data, property_of
from trivet.attest.envelope import strict_json
from trivet.attest.times import written
from trivet.errors import SignatureError

NO_POLICY = "urn:trivet:policy:none"
"""Stands where a predicate must name a policy and none could be read."""
BOUND = ("repository", "base", "head", "policy")
"""What one judgement is about; equal in all statements of it, and never unknown behind a PASS but for the repository's name."""


def leg_statement(document: Mapping[str, Any], leg: str, *, now: float, session: str = "", verdict_sha256: str = "") -> Data:
    """The test-result statement of one leg; what is not PASS is FAILED.

    Args:
        document: the data of ``decision.json``, or that of a verdict file with itself under ``verdicts``.
        leg: the leg.
        now: the clock reading of the process.
        session: names the CI run that the leg belongs to; legs of different sessions do not join.
        verdict_sha256: the digest of the verdict file's bytes.
    """
    verdict = document["verdicts"][leg]
    rules = sorted({str(row["rule"]) for row in verdict["findings"] if row.get("level", "error") == "error"})
    facts = facts_of(document)
    facts |= {
        "leg": leg,
        "status": verdict["status"],
        "cause": verdict.get("cause", ""),
        "timeCreated": written(now),
        "session": session,
        "verdict_sha256": verdict_sha256,
    }
    return {
        "_type": STATEMENT,
        "subject": subjects(document),
        "predicateType": TEST_RESULT,
        "predicate": {
            "result": "PASSED" if verdict["status"] == "PASS" else "FAILED",
            "configuration": policies(document) or [{"uri": NO_POLICY}],
            "failedTests": rules,
            EXTENSION: facts,
        },
    }


def leg_file_statement(content: bytes, leg: str, *, now: float, session: str = "") -> Data:
    """The statement about the verdict file of one leg, such as ``src_score.json``, whose exact bytes it binds.

    Raises:
        SignatureError: the file is not of this leg, or does not say what it is about.
    """
    data = strict_json(content, "verdict file")
    try:
        if data["leg"] != leg:
            raise SignatureError(f"this is not the verdict file of {leg}")
        digest = hashlib.sha256(content).hexdigest()
        return leg_statement({**data, "verdicts": {leg: data}}, leg, now=now, session=session, verdict_sha256=digest)
    except (KeyError, TypeError, AttributeError) as error:
        raise SignatureError(f"the verdict file of {leg} does not say what it is about: {error}") from error


def decision_statement(
    document: Mapping[str, Any],
    *,
    decision_sha256: str,
    now: float,
    session: str = "",
    legs: Sequence[Mapping[str, Any]] = (),
    keys: Mapping[str, str] | None = None,
) -> Data:
    """The SVR statement of a joined decision.

    Args:
        document: the data of ``decision.json``.
        decision_sha256: the digest of the bytes of ``decision.json`` as written.
        now: the clock reading of the process.
        session: names the CI run.
        legs: the statements of the legs, in the order of ``LEGS``, as their jobs signed them; none makes them from ``document``.
        keys: for each leg that was signed by itself, the id of the key.
    """
    facts = facts_of(document)
    statuses = {leg: document["verdicts"][leg]["status"] for leg in LEGS}
    facts |= {
        "decision_sha256": decision_sha256,
        "statuses": statuses,
        "merge": bool(document["merge"]),
        "session": session,
        "legs": [dict(leg) for leg in legs] or [leg_statement(document, leg, now=now, session=session) for leg in LEGS],
        "leg_keys": dict(keys or {}),
    }
    return {
        "_type": STATEMENT,
        "subject": subjects(document),
        "predicateType": SVR,
        "predicate": {
            "verifier": {"id": verifier(document), "policies": policies(document)},
            "timeCreated": written(now),
            "properties": properties(facts),
            EXTENSION: facts,
        },
    }


def vsa_statement(decision: Mapping[str, Any], envelopes: Mapping[str, bytes]) -> Data:
    """A SLSA Verification Summary (v1) of a signed decision, for consumers of SLSA.

    Args:
        decision: the SVR statement.
        envelopes: name and bytes of every envelope that the summary stands on.
    """
    predicate = decision["predicate"]
    facts = predicate[EXTENSION]
    merge = bool(facts["merge"])
    policy = facts.get("policy") or {}
    digest = str(policy.get("digest") or "").removeprefix("sha256:")
    return {
        "_type": STATEMENT,
        "subject": decision["subject"],
        "predicateType": VSA,
        "predicate": {
            "verifier": {"id": predicate["verifier"]["id"]},
            "timeVerified": predicate["timeCreated"],
            "resourceUri": resource(facts),
            "policy": {"uri": f"urn:trivet:policy:sha256:{digest}", "digest": {"sha256": digest}} if digest else {"uri": NO_POLICY},
            "inputAttestations": [
                {"uri": f"urn:trivet:envelope:{name}", "digest": {"sha256": hashlib.sha256(data).hexdigest()}}
                for name, data in sorted(envelopes.items())
            ],
            "verificationResult": "PASSED" if merge else "FAILED",
            "verifiedLevels": list(predicate["properties"]) if merge else ["FAILED"],
            "slsaVersion": "1.0",
        },
    }


def properties(facts: Mapping[str, Any]) -> list[str]:
    """What passed, in the words of ``--require``: the legs, the merge, and how strongly the score was taken."""
    statuses = facts["statuses"]
    passed = [property_of(leg) for leg in LEGS if statuses[leg] == "PASS"]
    if facts["merge"]:
        passed.append(MERGE_OK)
    if statuses["src-score"] == "PASS":
        passed += _strengths(facts)
    return passed


def _strengths(facts: Mapping[str, Any]) -> list[str]:
    found = []
    if isinstance(facts.get("wall"), Mapping) and facts["wall"].get("name") in ("kernel", "bubblewrap"):
        found.append(f"TRIVET_WALL_{str(facts['wall']['name']).upper()}")
    isolation = facts.get("isolation")
    if isinstance(isolation, Mapping) and isolation and set(isolation) == {"split"}:
        found.append("TRIVET_ISOLATION_SPLIT")
    controls = facts.get("controls")
    if isinstance(controls, Mapping) and controls.get("red") and not any(controls.get(name) for name in ("passed", "timeout", "missing")):
        found.append("TRIVET_CONTROLS")
    return found


def subjects(document: Mapping[str, Any]) -> list[Data]:
    """Commit and tree of head, and the tree that was scored; before anything could be read there is none to name."""
    head = document.get("head")
    if not head:
        raise SignatureError("nothing was read, so there is no commit to sign about", hint="mend what stopped the gate, and run it again")
    rows: list[Data] = [
        {"name": "head", "digest": {"gitCommit": head["commit"]}},
        {"name": "head-tree", "digest": {"gitTree": head["tree"]}},
    ]
    if document.get("score_tree"):
        rows.append({"name": "scoring-tree", "digest": {"gitTree": document["score_tree"]}})
    return rows


def facts_of(document: Mapping[str, Any]) -> Data:
    """What binds a statement to one judgement. Long lists are counted: they stand in the file whose digest is bound."""
    run = document.get("run") or {}
    key = document.get("replay_key") or {}
    isolation = run.get("isolation")
    if isinstance(isolation, Mapping):
        isolation = {name: len(files) if isinstance(files, (list, tuple)) else files for name, files in isolation.items()}
    return {
        "repository": document.get("repository"),
        "base": document["base"],
        "head": document["head"],
        "merge_base": document.get("merge_base"),
        "score_tree": document.get("score_tree"),
        "policy": document.get("policy"),
        "replay_key": key.get("digest"),
        "isolation": isolation,
        "wall": run.get("wall"),
        "tests": run.get("tests"),
        "controls": run.get("controls"),
    }


def policies(document: Mapping[str, Any]) -> list[Data]:
    """The policy as a resource descriptor; empty when none could be read."""
    policy = document.get("policy") or {}
    digest = str(policy.get("digest") or "").removeprefix("sha256:")
    return [{"name": str(policy.get("source") or "policy"), "digest": {"sha256": digest}}] if digest else []


def verifier(document: Mapping[str, Any]) -> str:
    """The id of who verified: this tool, in this version."""
    return f"urn:trivet:gate:{(document.get('tool') or {}).get('version', 'unknown')}"


def resource(facts: Mapping[str, Any]) -> str:
    """The URI of head: in its repository where that has a name, and as a SWHID (which names the object itself) where not."""
    head = facts["head"]["commit"]
    return f"git+{facts['repository']}@{head}" if facts.get("repository") else f"swh:1:rev:{head}"
