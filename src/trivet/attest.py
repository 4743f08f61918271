"""Signed decisions: in-toto statements in a DSSE envelope, made from the document of ``decision.json`` and checked with a key alone.

One envelope carries the Simple Verification Result (SVR v0.2) of the join. An SVR names only what passed, so the three
``test-result/v0.1`` statements of the legs, the refusals and everything the verdict was about stand in the extension field ``EXTENSION``
of the same signed payload. Each leg's statement can also be signed by itself, for separate jobs.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from trivet.attest_key import key_id
from trivet.errors import SignatureError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

LEGS = ("flake-lease", "oracle-integrity", "src-score")
"""The legs as ``trivet.model.LEGS`` has them; that room is not loaded, so that verifying starts quickly."""
PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
SVR = "https://in-toto.io/attestation/svr/v0.2"
EXTENSION = "urn:trivet:attestation:v1"
MERGE_OK = "TRIVET_MERGE_OK"
LIMIT_B = 64_000_000
"""No envelope of ours is longer."""

Data = dict[str, Any]


class Attested(NamedTuple):
    """What a verified envelope says. ``properties`` are those that passed; ``facts`` is the extension field."""

    key: str
    time: str
    head: str
    base: str
    merge: bool
    statuses: Mapping[str, str]
    properties: tuple[str, ...]
    facts: Mapping[str, Any]
    statement: Mapping[str, Any]


def property_of(leg: str) -> str:
    """The SVR property of a leg: ``src-score`` gives ``TRIVET_SRC_SCORE``."""
    return "TRIVET_" + leg.upper().replace("-", "_")


def decision_statement(document: Mapping[str, Any], *, decision_bytes: bytes, now: float) -> Data:
    """The SVR statement of a joined decision.

    Args:
        document: the data of ``decision.json``.
        decision_bytes: the bytes of ``decision.json`` as written; their digest is bound.
        now: the clock reading of the process.
    """
    facts = _facts(document)
    facts["decision_sha256"] = hashlib.sha256(decision_bytes).hexdigest()
    facts["statuses"] = {leg: document["verdicts"][leg]["status"] for leg in LEGS}
    facts["merge"] = bool(document["merge"])
    facts["legs"] = [leg_statement(document, leg) for leg in LEGS]
    passed = [property_of(leg) for leg in LEGS if document["verdicts"][leg]["status"] == "PASS"]
    return {
        "_type": STATEMENT,
        "subject": _subjects(document),
        "predicateType": SVR,
        "predicate": {
            "verifier": {"id": _verifier(document), "policies": _policies(document)},
            "timeCreated": datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "properties": [*passed, *([MERGE_OK] if document["merge"] else [])],
            EXTENSION: facts,
        },
    }


def leg_statement(document: Mapping[str, Any], leg: str) -> Data:
    """The test-result statement of one leg; what is not PASS is FAILED."""
    verdict = document["verdicts"][leg]
    rules = sorted({row["rule"] for row in verdict["findings"] if row.get("level", "error") == "error"})
    return {
        "_type": STATEMENT,
        "subject": _subjects(document),
        "predicateType": TEST_RESULT,
        "predicate": {
            "result": "PASSED" if verdict["status"] == "PASS" else "FAILED",
            "configuration": _policies(document) or [{"uri": "urn:trivet:policy:none"}],
            "failedTests": rules,
            EXTENSION: {**_facts(document), "leg": leg, "status": verdict["status"], "cause": verdict.get("cause", "")},
        },
    }


def leg_envelope(content: bytes, leg: str, key: Ed25519PrivateKey) -> bytes:
    """Sign the verdict file of one leg, for a job that judges this leg alone.

    Args:
        content: the bytes of the verdict file, such as ``src_score.json``.
        leg: the leg that it must be of.
        key: the private key.

    Raises:
        SignatureError: the file is not of this leg, or is about no commit.
    """
    statement = _leg_file_statement(content, leg)
    statement["predicate"][EXTENSION]["verdict_sha256"] = hashlib.sha256(content).hexdigest()
    return sign(statement, key)


def check_leg(envelope: bytes, content: bytes, leg: str, key: Ed25519PublicKey) -> None:
    """Check that ``envelope`` was made by ``leg_envelope`` for exactly this verdict file.

    Raises:
        SignatureError: with the one reason why it is refused.
    """
    statement = open_envelope(envelope, key)
    expected = _leg_file_statement(content, leg)
    expected["predicate"][EXTENSION]["verdict_sha256"] = hashlib.sha256(content).hexdigest()
    if statement != expected:
        raise SignatureError(f"the signed statement is not about this verdict file of {leg}")


def _leg_file_statement(content: bytes, leg: str) -> Data:
    data = _json(content, "verdict file")
    try:
        if data["leg"] != leg:
            raise SignatureError(f"this is not the verdict file of {leg}")
        return leg_statement({**data, "verdicts": {leg: data}}, leg)
    except (KeyError, TypeError, AttributeError) as error:
        raise SignatureError(f"the verdict file of {leg} does not say what it is about: {error}") from error


def sign(statement: Mapping[str, Any], key: Ed25519PrivateKey) -> bytes:
    """Put a statement into a signed DSSE envelope (JSON, one line end)."""
    from securesystemslib.dsse import Envelope  # noqa: PLC0415 - only signers pay for it
    from securesystemslib.signer import CryptoSigner, SSlibKey  # type: ignore[attr-defined]  # noqa: PLC0415

    payload = json.dumps(statement, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    envelope.sign(CryptoSigner(key, SSlibKey.from_crypto(key.public_key())))
    return (json.dumps(envelope.to_dict(), sort_keys=True, allow_nan=False) + "\n").encode()


def verify(data: bytes, key: Ed25519PublicKey) -> Attested:
    """Check the envelope of a decision and read it.

    Raises:
        SignatureError: with the one reason why it is refused.
    """
    statement = open_envelope(data, key)
    if statement.get("predicateType") != SVR:
        raise SignatureError(f"the statement is no joined decision but {statement.get('predicateType')!r}")
    try:
        return _attested(statement, key_id(key))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SignatureError(f"the signed statement is not of the documented form: {error}") from error


def open_envelope(data: bytes, key: Ed25519PublicKey) -> Data:
    """Check a DSSE envelope against one expected key; returns the statement inside.

    Raises:
        SignatureError: malformed, of another key, or changed after signing.
    """
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

    if len(data) > LIMIT_B:
        raise SignatureError("the envelope is too long")
    envelope = _json(data, "envelope")
    if set(envelope) != {"payload", "payloadType", "signatures"} or not isinstance(envelope["signatures"], list):
        raise SignatureError("the envelope does not have exactly payload, payloadType and signatures")
    if envelope["payloadType"] != PAYLOAD_TYPE:
        raise SignatureError(f"the payload type is {envelope['payloadType']!r}, not {PAYLOAD_TYPE!r}")
    payload = _base64(envelope["payload"], "payload")
    wanted = key_id(key)
    if not envelope["signatures"]:
        raise SignatureError("the envelope is not signed")
    if len(envelope["signatures"]) != 1:
        raise SignatureError("the envelope has more than one signature; ours have exactly one")
    row = envelope["signatures"][0]
    if not isinstance(row, dict) or not {"sig"} <= set(row) <= {"sig", "keyid"}:
        raise SignatureError("a signature does not have exactly keyid and sig")
    if row.get("keyid", wanted) != wanted:
        raise SignatureError(f"signed by key {str(row['keyid'])[:16]!r}, expected {wanted[:16]!r}")
    try:
        key.verify(_base64(row["sig"], "signature"), pae(payload))
    except InvalidSignature as error:
        raise SignatureError("the signature does not belong to this payload and key") from error
    statement = _json(payload, "payload")
    if statement.get("_type") != STATEMENT:
        raise SignatureError(f"the payload is no in-toto Statement v1 but {statement.get('_type')!r}")
    return statement


def pae(payload: bytes) -> bytes:
    """The bytes that DSSE signs (pre-authentication encoding)."""
    return b"DSSEv1 %d %b %d %b" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload), payload)


def _attested(statement: Data, key: str) -> Attested:
    predicate = statement["predicate"]
    facts = predicate[EXTENSION]
    statuses: dict[str, str] = {leg: str(facts["statuses"][leg]) for leg in LEGS}
    merge = all(status == "PASS" for status in statuses.values())
    properties = tuple(predicate["properties"])
    expected = {property_of(leg) for leg, status in statuses.items() if status == "PASS"} | ({MERGE_OK} if merge else set())
    head = next(row["digest"]["gitCommit"] for row in statement["subject"] if row.get("name") == "head")
    if facts["merge"] is not merge or set(properties) != expected:
        raise SignatureError("the statement contradicts itself: properties, statuses and merge do not agree")
    if facts["head"]["commit"] != head:
        raise SignatureError("the statement contradicts itself: its subject is not the head that was judged")
    for leg, inner in zip(LEGS, facts["legs"], strict=True):
        own = inner["predicate"][EXTENSION]
        same = all(own[name] == facts[name] for name in ("base", "head", "policy", "replay_key"))
        if own["leg"] != leg or own["status"] != statuses[leg] or inner["subject"] != statement["subject"] or not same:
            raise SignatureError(f"the statement of {leg} does not belong to this decision")
        if (inner["predicate"]["result"] == "PASSED") != (statuses[leg] == "PASS"):
            raise SignatureError(f"the statement of {leg} contradicts its status")
    return Attested(
        key=key,
        time=str(predicate["timeCreated"]),
        head=head,
        base=str(facts["base"]["commit"]),
        merge=merge,
        statuses=statuses,
        properties=properties,
        facts=facts,
        statement=statement,
    )


def _subjects(document: Mapping[str, Any]) -> list[Data]:
    head = document["head"]
    rows: list[Data] = [
        {"name": "head", "digest": {"gitCommit": head["commit"]}},
        {"name": "head-tree", "digest": {"gitTree": head["tree"]}},
    ]
    if document.get("score_tree"):
        rows.append({"name": "scoring-tree", "digest": {"gitTree": document["score_tree"]}})
    return rows


def _facts(document: Mapping[str, Any]) -> Data:
    """What binds a statement to one judgement."""
    run = document.get("run") or {}
    key = document.get("replay_key") or {}
    return {
        "base": document["base"],
        "head": document["head"],
        "merge_base": document.get("merge_base"),
        "score_tree": document.get("score_tree"),
        "policy": document.get("policy"),
        "replay_key": key.get("digest"),
        "isolation": run.get("isolation"),
        "wall": run.get("wall"),
        "tests": run.get("tests"),
        "controls": run.get("controls"),
    }


def _policies(document: Mapping[str, Any]) -> list[Data]:
    policy = document.get("policy") or {}
    digest = str(policy.get("digest") or "").removeprefix("sha256:")
    return [{"name": str(policy.get("source") or "policy"), "digest": {"sha256": digest}}] if digest else []


def _verifier(document: Mapping[str, Any]) -> str:
    return f"urn:trivet:gate:{(document.get('tool') or {}).get('version', 'unknown')}"


def _json(data: bytes, what: str) -> Data:
    try:
        value = json.loads(data.decode(), object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise SignatureError(f"the {what} is not strict JSON: {error}") from error
    if not isinstance(value, dict):
        raise SignatureError(f"the {what} is not a JSON object")
    return value


def _base64(value: object, what: str) -> bytes:
    try:
        raw = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError) as error:
        raise SignatureError(f"the {what} is not base64") from error
    if not raw or base64.b64encode(raw).decode() != value:
        raise SignatureError(f"the {what} is not plain base64")
    return raw


def _unique(pairs: list[tuple[str, Any]]) -> Data:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is no JSON")
