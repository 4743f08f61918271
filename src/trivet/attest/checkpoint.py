"""Signed heads of the log, in the text form of C2SP ``tlog-checkpoint``: whoever keeps one can see later that the log was rewritten.

Three lines (origin, size, root in base64), an empty line, and one signature line of a ``signed-note`` with an Ed25519 key.
"""

from __future__ import annotations

import binascii
import hashlib
from typing import TYPE_CHECKING, NamedTuple

from trivet.attest.envelope import plain_base64
from trivet.errors import SignatureError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_DASH = "\u2014"
_HASH_B, _SIGNATURE_B, _ROOT_B = 4, 64, 32


class Checkpoint(NamedTuple):
    """A head of the log that ``origin`` had, with ``size`` entries and this Merkle root."""

    origin: str
    size: int
    root: bytes


def signed(point: Checkpoint, key: Ed25519PrivateKey) -> bytes:
    """The bytes of a signed checkpoint.

    Raises:
        SignatureError: the origin cannot name a log.
    """
    if not point.origin or any(char.isspace() or char == "+" for char in point.origin):
        raise SignatureError(f"the origin {point.origin!r} cannot name a log: no blanks and no plus sign")
    body = _body(point)
    mark = key_hash(point.origin, key.public_key()) + key.sign(body)
    return body + f"\n{_DASH} {point.origin} {_text(mark)}\n".encode()


def opened(data: bytes, key: Ed25519PublicKey) -> Checkpoint:
    """Check a checkpoint and read it.

    Raises:
        SignatureError: it is not of the documented form, of another key, or changed after signing.
    """
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

    try:
        lines = data.decode("utf-8").split("\n")
        origin, size, root, empty, signature, end = lines
        dash, name, mark = signature.split(" ")
        point = Checkpoint(origin=origin, size=int(size), root=plain_base64(root, "root"))
        raw = plain_base64(mark, "signature")
    except ValueError as error:
        raise SignatureError("the checkpoint is not of the documented form") from error
    if (empty, end, dash, name) != ("", "", _DASH, origin) or str(point.size) != size or point.size < 0 or len(point.root) != _ROOT_B:
        raise SignatureError("the checkpoint is not of the documented form")
    if raw[:_HASH_B] != key_hash(origin, key):
        raise SignatureError("the checkpoint is signed by another key, or for another log")
    try:
        key.verify(raw[_HASH_B:], _body(point))
    except InvalidSignature as error:
        raise SignatureError("the signature does not belong to this checkpoint and key") from error
    return point


def key_hash(name: str, key: Ed25519PublicKey) -> bytes:
    """The four bytes by which a signed note names an Ed25519 key."""
    return hashlib.sha256(name.encode() + b"\n\x01" + key.public_bytes_raw()).digest()[:_HASH_B]


def _body(point: Checkpoint) -> bytes:
    return f"{point.origin}\n{point.size}\n{_text(point.root)}\n".encode()


def _text(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode()
