"""Signed decisions: made, checked, and refused when anything was changed."""

from __future__ import annotations

import base64
import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from trivet import attest
from trivet.attest_key import key_id, load_private, load_public, new_key, public_pem
from trivet.errors import SignatureError, UsageError

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
NOW = 1_790_000_000.0


def document(**statuses: str) -> dict[str, Any]:
    """A decision document; ``src_score="FAIL"`` sets one status."""
    words = {leg: statuses.get(leg.replace("-", "_"), "PASS") for leg in attest.LEGS}
    return {
        "schema": 1, "tool": {"name": "trivet", "version": "0"},
        "base": {"commit": "b" * 40, "tree": "c" * 40}, "head": {"commit": "d" * 40, "tree": "e" * 40},
        "merge_base": "b" * 40, "score_tree": "f" * 40, "policy": {"digest": "1" * 64, "source": "trivet.toml"},
        "verdicts": {leg: {"status": word, "cause": "", "findings": []} for leg, word in words.items()},
        "merge": all(word == "PASS" for word in words.values()),
        "replay_key": {"digest": "2" * 64}, "run": {"tests": 3, "controls": 4, "isolation": "shared", "wall": "kernel"},
    }


def envelope(data: dict[str, Any] | None = None, key: Ed25519PrivateKey = KEY) -> bytes:
    """A signed envelope."""
    return attest.sign(attest.decision_statement(data or document(), decision_bytes=b"x", now=NOW), key)


def test_a_signed_decision_is_read_back() -> None:
    """Everything that binds it is there."""
    found = attest.verify(envelope(), KEY.public_key())
    assert (found.merge, found.head, found.base, found.time) == (True, "d" * 40, "b" * 40, "2026-09-21T14:13:20Z")
    assert found.properties == ("TRIVET_FLAKE_LEASE", "TRIVET_ORACLE_INTEGRITY", "TRIVET_SRC_SCORE", "TRIVET_MERGE_OK")


@pytest.mark.parametrize("status", ["FAIL", "NOT_RUN"])
def test_a_refusal_is_signed_as_well(status: str) -> None:
    """A blocked decision verifies and stays blocked."""
    found = attest.verify(envelope(document(src_score=status)), KEY.public_key())
    assert (found.merge, found.statuses["src-score"], "TRIVET_SRC_SCORE" in found.properties) == (False, status, False)


def test_another_key_is_refused() -> None:
    """The reason names both keys."""
    with pytest.raises(SignatureError, match="signed by key"):
        attest.verify(envelope(key=OTHER), KEY.public_key())


def test_every_single_bit_change_is_refused() -> None:
    """No bit of an envelope can be changed, wherever it lies."""
    data = envelope()
    public = KEY.public_key()
    dice = random.Random(7)
    places = {dice.randrange(len(data) * 8) for _ in range(1500)} | set(range((len(data) - 300) * 8, len(data) * 8, 3))
    for place in places:
        changed = bytearray(data)
        changed[place // 8] ^= 1 << place % 8
        if bytes(changed).strip() == data.strip():
            continue
        try:
            if json.loads(changed) == json.loads(data):  # white space between tokens says nothing
                continue
        except ValueError:
            pass
        with pytest.raises(SignatureError):
            attest.verify(bytes(changed), public)


def test_every_bit_of_a_public_key_file_counts(tmp_path: Path) -> None:
    """A changed key file is another key or none."""
    data = envelope()
    pem = public_pem(KEY.public_key())
    path = tmp_path / "k.pub"
    for place in range(len(pem.strip()) * 8):
        changed = bytearray(pem)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(SignatureError):
            attest.verify(data, load_public(path))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda e: e.update(payloadType="text/plain"), "payload type"),
        (lambda e: e.update(signatures=[]), "not signed"),
        (lambda e: e["signatures"].append(e["signatures"][0]), "more than one"),
        (lambda e: e["signatures"][0].update(extra=1), "exactly keyid and sig"),
        (lambda e: e["signatures"][0].update(keyid="0" * 64), "signed by key"),
        (lambda e: e.update(more=1), "exactly payload"),
        (lambda e: e.update(payload=e["payload"] + "\n"), "base64"),
        (lambda e: e.update(payload=7), "base64"),
        (lambda e: e.update(payload=base64.b64encode(b"{}").decode()), "does not belong"),
        (lambda e: e["signatures"][0].update(sig=base64.b64encode(bytes(64)).decode()), "does not belong"),
    ],
)
def test_a_changed_envelope_is_refused_with_its_reason(change: Any, reason: str) -> None:
    """Each kind of change has its own reason."""
    data = json.loads(envelope())
    change(data)
    with pytest.raises(SignatureError, match=reason):
        attest.verify(json.dumps(data).encode(), KEY.public_key())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda s, f: f["statuses"].update({"src-score": "PASS"}), "contradicts itself"),
        (lambda s, f: f.update(merge=True), "contradicts itself"),
        (lambda s, f: s["predicate"]["properties"].append("TRIVET_MERGE_OK"), "contradicts itself"),
        (lambda s, f: s["subject"][0]["digest"].update(gitCommit="0" * 40), "subject"),
        (lambda s, f: f.update(base={"commit": "0" * 40, "tree": "0" * 40}), "does not belong"),
        (lambda s, f: f.update(policy=None), "does not belong"),
        (lambda s, f: f.update(replay_key="0"), "does not belong"),
        (lambda s, f: f["legs"].pop(), "documented form"),
        (lambda s, f: f["legs"].reverse(), "does not belong"),
        (lambda s, f: s["predicate"].pop(attest.EXTENSION), "documented form"),
        (lambda s, f: s.update(predicateType=attest.TEST_RESULT), "no joined decision"),
        (lambda s, f: s.update(_type="https://in-toto.io/Statement/v0.1"), "no in-toto Statement v1"),
    ],
)
def test_a_signed_statement_that_contradicts_itself_is_refused(change: Any, reason: str) -> None:
    """Even the right key does not make parts of two judgements into one."""
    statement = attest.decision_statement(document(src_score="FAIL"), decision_bytes=b"x", now=NOW)
    statement = copy.deepcopy(statement)
    change(statement, statement["predicate"][attest.EXTENSION])
    with pytest.raises(SignatureError, match=reason):
        attest.verify(attest.sign(statement, KEY), KEY.public_key())


def test_the_reference_library_accepts_our_envelopes_and_we_accept_its() -> None:
    """Both directions, with securesystemslib."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner, SSlibKey

    public = SSlibKey.from_crypto(KEY.public_key())
    assert public.keyid == key_id(KEY.public_key())
    assert list(Envelope.from_dict(json.loads(envelope())).verify([public], 1)) == [public.keyid]
    statement = attest.decision_statement(document(), decision_bytes=b"y", now=NOW)
    theirs = Envelope(json.dumps(statement, indent=2).encode(), attest.PAYLOAD_TYPE, {})
    theirs.sign(CryptoSigner(KEY, public))
    assert attest.verify(json.dumps(theirs.to_dict(), indent=1).encode(), KEY.public_key()).merge
    assert theirs.pae() == attest.pae(theirs.payload)


def test_keys_are_written_once_and_only_for_their_owner(tmp_path: Path) -> None:
    """Mode 0600, nothing overwritten, and a key that others can read is refused."""
    private, public = new_key(tmp_path / "gate")
    assert private.stat().st_mode & 0o777 == 0o600
    assert key_id(load_private(str(private)).public_key()) == key_id(load_public(public))
    with pytest.raises(UsageError, match="not overwritten"):
        new_key(tmp_path / "gate")
    private.chmod(0o640)
    with pytest.raises(SignatureError, match="others can read"):
        load_private(str(private))


def test_a_leg_statement_fails_for_whatever_is_not_a_pass() -> None:
    """NOT_RUN is FAILED for a consumer of test results."""
    results = [attest.leg_statement(document(src_score=word), "src-score")["predicate"]["result"] for word in ("PASS", "FAIL", "NOT_RUN")]
    assert results == ["PASSED", "FAILED", "FAILED"]


def test_the_legs_are_those_of_the_model() -> None:
    """The names are kept twice, and are the same."""
    from trivet import model

    assert attest.LEGS == model.LEGS
