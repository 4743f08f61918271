"""Signing keys: Ed25519, the private half in a file that only its owner can read, the public half beside it as ``NAME.pub``."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from trivet.errors import SignatureError, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_LIMIT_B = 20_000


def new_key(prefix: Path) -> tuple[Path, Path]:
    """Write a new key pair to ``PREFIX`` (mode 0600) and ``PREFIX.pub``; nothing is overwritten.

    Raises:
        UsageError: one of the files exists, or cannot be written.
    """
    from cryptography.hazmat.primitives import serialization as form  # noqa: PLC0415 - only signers pay for it
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    public = prefix.with_name(prefix.name + ".pub")
    if public.exists() or public.is_symlink():
        raise UsageError("the file exists and is not overwritten", where=str(public), hint="choose another PREFIX")
    _create(prefix, private, 0o600)
    _create(public, public_pem(key.public_key()), 0o644)
    return prefix, public


def load_private(name: str) -> Ed25519PrivateKey:
    """Load a private key from a file (mode 0600 or stricter) or an inherited descriptor (``fd:N``).

    Raises:
        SignatureError: it cannot be read, others can read it, or it is no Ed25519 key.
    """
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    try:
        key = load_pem_private_key(_private_bytes(name), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SignatureError("this is no private key in PEM form without a password", where=name) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SignatureError("this is no Ed25519 key", where=name, hint="make one with `trivet key new --out PREFIX`")
    return key


def load_public(path: Path) -> Ed25519PublicKey:
    """Load a public key; the file must hold exactly the PEM form of one Ed25519 key.

    Raises:
        SignatureError: it cannot be read or is something else.
    """
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415

    try:
        with path.open("rb") as file:
            data = file.read(_LIMIT_B)
        key = load_pem_public_key(data)
    except OSError as error:
        raise SignatureError(f"the public key cannot be read: {error.strerror or error}", where=str(path)) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise SignatureError("this is no public key in PEM form", where=str(path)) from error
    # A file that can be written in two ways could hide a changed one.
    if not isinstance(key, Ed25519PublicKey) or data.replace(b"\r\n", b"\n").strip() != public_pem(key).strip():
        raise SignatureError("this is not the plain PEM form of an Ed25519 public key", where=str(path))
    return key


def public_pem(key: Ed25519PublicKey) -> bytes:
    """The PEM form of a public key."""
    from cryptography.hazmat.primitives import serialization as form  # noqa: PLC0415

    return key.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)


def key_id(key: Ed25519PublicKey) -> str:
    """The id of a key, as securesystemslib computes it: SHA-256 of the canonical JSON of the public key."""
    form = {"keytype": "ed25519", "keyval": {"public": key.public_bytes_raw().hex()}, "scheme": "ed25519"}
    return hashlib.sha256(json.dumps(form, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _private_bytes(name: str) -> bytes:
    try:
        if name.startswith("fd:"):
            with os.fdopen(int(name[3:]), "rb") as stream:
                return stream.read(_LIMIT_B)
        with Path(name).open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode) or mode & 0o077:
                raise SignatureError("others can read this private key, or it is no regular file", where=name, hint=f"chmod 600 {name}")
            return file.read(_LIMIT_B)
    except (OSError, ValueError) as error:
        raise SignatureError(f"the private key cannot be read: {error}", where=name) from error


def _create(path: Path, data: bytes, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
    except FileExistsError as error:
        raise UsageError("the file exists and is not overwritten", where=str(path), hint="choose another PREFIX") from error
    except OSError as error:
        raise UsageError(f"the key cannot be written: {error.strerror or error}", where=str(path)) from error
