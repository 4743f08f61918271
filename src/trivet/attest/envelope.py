"""DSSE envelopes with one Ed25519 signature: signed, opened, and refused with the one reason why.

There is one way to write an envelope down but for white space and the order of keys: strict JSON, plain base64, exactly the known fields.
"""

from __future__ import annotations

import binascii
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from trivet import strict
from trivet.attest import LIMIT_B, PAYLOAD_TYPE, STATEMENT, Data
from trivet.errors import SignatureError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


class Opened(NamedTuple):
    """A statement whose signature was checked: the statement, its bytes as signed, and the id of the key."""

    statement: Data
    payload: bytes
    key: str


def canonical(statement: Mapping[str, Any]) -> bytes:
    """The bytes of a statement that are signed: sorted keys, no blanks, ASCII."""
    return json.dumps(statement, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def sign(statement: Mapping[str, Any], key: Ed25519PrivateKey) -> bytes:
    """Put a statement into a signed DSSE envelope: JSON on one line, with a line end."""
    from securesystemslib.dsse import Envelope  # noqa: PLC0415 - only signers pay for it
    from securesystemslib.signer import CryptoSigner, SSlibKey  # type: ignore[attr-defined]  # noqa: PLC0415

    envelope = Envelope(canonical(statement), PAYLOAD_TYPE, {})
    envelope.sign(CryptoSigner(key, SSlibKey.from_crypto(key.public_key())))
    return (json.dumps(envelope.to_dict(), sort_keys=True, allow_nan=False) + "\n").encode()


def open_envelope(data: bytes, keys: Mapping[str, Ed25519PublicKey]) -> Opened:
    """Check a DSSE envelope against the keys that are trusted, by key id.

    Raises:
        SignatureError: malformed, of another key, or changed after signing.
    """
    payload, signature, named = parts(data)
    if named is not None and named not in keys:
        expected = "expected " + ", ".join(repr(key[:16]) for key in keys) if keys else "no key is trusted"
        raise SignatureError(f"signed by key {named[:16]!r}, {expected}")
    for key in keys if named is None else (named,):
        if _holds(keys[key], signature, pae(payload)):
            return Opened(statement_of(payload), payload, key)
    raise SignatureError("the signature does not belong to this payload and key")


def parts(data: bytes) -> tuple[bytes, bytes, str | None]:
    """Payload, signature and named key id of an envelope; nothing is checked but its form.

    Raises:
        SignatureError: it has another form.
    """
    if len(data) > LIMIT_B:
        raise SignatureError("the envelope is too long")
    envelope = strict_json(data, "envelope")
    if set(envelope) != {"payload", "payloadType", "signatures"} or not isinstance(envelope["signatures"], list):
        raise SignatureError("the envelope does not have exactly payload, payloadType and signatures")
    if envelope["payloadType"] != PAYLOAD_TYPE:
        raise SignatureError(f"the payload type is {envelope['payloadType']!r}, not {PAYLOAD_TYPE!r}")
    payload = plain_base64(envelope["payload"], "payload")
    if not envelope["signatures"]:
        raise SignatureError("the envelope is not signed")
    if len(envelope["signatures"]) != 1:
        raise SignatureError("the envelope has more than one signature; ours have exactly one")
    row = envelope["signatures"][0]
    if not isinstance(row, dict) or not {"sig"} <= set(row) <= {"sig", "keyid"} or not isinstance(row.get("keyid", ""), str):
        raise SignatureError("a signature does not have exactly keyid and sig")
    return payload, plain_base64(row["sig"], "signature"), row.get("keyid")


def statement_of(payload: bytes) -> Data:
    """The in-toto statement of a payload whose signature was checked.

    Raises:
        SignatureError: it is none.
    """
    statement = strict_json(payload, "payload")
    if statement.get("_type") != STATEMENT:
        raise SignatureError(f"the payload is no in-toto Statement v1 but {statement.get('_type')!r}")
    return statement


def pae(payload: bytes) -> bytes:
    """The bytes that DSSE signs (pre-authentication encoding)."""
    return b"DSSEv1 %d %b %d %b" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload), payload)


def strict_json(data: bytes, what: str) -> Data:
    """A JSON object in which no key stands twice, no number is infinite, and nothing follows.

    Raises:
        SignatureError: it is none; the message names ``what``.
    """
    try:
        value = strict.loads(data)
    except (ValueError, RecursionError) as error:
        raise SignatureError(f"the {what} is not strict JSON: {error}") from error
    if not isinstance(value, dict):
        raise SignatureError(f"the {what} is not a JSON object")
    return value


def plain_base64(value: object, what: str) -> bytes:
    """The bytes of base64 text that has only one way to be written.

    Raises:
        SignatureError: it is none; the message names ``what``.
    """
    try:
        raw = binascii.a2b_base64(value, strict_mode=True) if isinstance(value, str) else b""
    except ValueError as error:
        raise SignatureError(f"the {what} is not base64") from error
    if not raw or binascii.b2a_base64(raw, newline=False).decode() != value:
        raise SignatureError(f"the {what} is not plain base64")
    return raw


def _holds(key: Ed25519PublicKey, signature: bytes, message: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True
