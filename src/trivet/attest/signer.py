"""The one seam behind which a statement is signed: with a key, or keyless through Sigstore."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from trivet.attest import envelope
from trivet.attest.keys import key_id, load_private

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEYLESS = "sigstore"


class Signer(Protocol):
    """Signs statements. ``ending`` is that of its files, ``key`` names who signs."""

    ending: str
    key: str

    def sign(self, statement: Mapping[str, Any]) -> bytes:
        """The bytes of a signed envelope, with a line end."""


class KeySigner:
    """Signs with an Ed25519 key."""

    ending = "dsse.json"

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.key = key_id(private.public_key())

    def sign(self, statement: Mapping[str, Any]) -> bytes:
        """A DSSE envelope."""
        return envelope.sign(statement, self._private)


def signer_of(name: str, environ: Mapping[str, str]) -> Signer:
    """The signer that ``--sign`` names: a file, ``fd:N``, or ``sigstore``.

    Raises:
        SignatureError: the key cannot be used, or the extra is missing.
    """
    if name == KEYLESS:
        from trivet.attest.keyless import KeylessSigner  # noqa: PLC0415 - an extra

        return KeylessSigner()
    return KeySigner(load_private(name, environ))
