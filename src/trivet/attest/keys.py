"""Signing keys: Ed25519, the private half in a file that only its owner can read, the public half beside it as ``NAME.pub``.

Reading a public key loads nothing but the one primitive: its PEM form has 44 bytes of which 12 never change.
"""

from __future__ import annotations

import binascii
import hashlib
import json
import os
import stat
from typing import TYPE_CHECKING

from trivet.errors import SignatureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_LIMIT_B = 20_000
_RAW_B = 32
_PREFIX = bytes.fromhex("302a300506032b6570032100")
"""A SubjectPublicKeyInfo of Ed25519 up to the key itself (RFC 8410)."""
_BEGIN, _END = "-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----"


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


def load_private(name: str, environ: Mapping[str, str] | None = None) -> Ed25519PrivateKey:
    """Load a private key from a file (mode 0600 or stricter) or an inherited descriptor (``fd:N``), which is closed.

    Args:
        name: a path, or ``fd:N``.
        environ: the caller's environment, in which the key must not stand: every process of the caller's user can read it there.

    Raises:
        SignatureError: it cannot be read, others can read it, it is no Ed25519 key, or the environment holds it.
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
    _refuse_environment(key, environ or {})
    return key


def load_public(path: str | Path) -> Ed25519PublicKey:
    """Load a public key; the file must hold exactly the PEM form of one Ed25519 key.

    Raises:
        SignatureError: it cannot be read or is something else.
    """
    name = str(path)
    try:
        # Not to wait at a pipe that somebody put in the place of a file; no pathlib, since verifying does not load it.
        with open(os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
            data = file.read(_LIMIT_B) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except OSError as error:
        raise SignatureError(f"the public key cannot be read: {error.strerror or error}", where=name) from error
    return public_of_pem(data, name)


def public_of_pem(data: bytes, where: str) -> Ed25519PublicKey:
    """The key of a PEM text, in its plain form and no other: a text that can be written in two ways could hide a changed one.

    Raises:
        SignatureError: it is something else.
    """
    refused = SignatureError("this is not the plain PEM form of an Ed25519 public key", where=where, hint="`trivet key new` writes it")
    try:
        lines = data.decode("ascii").replace("\r\n", "\n").strip().split("\n")
        der = binascii.a2b_base64(lines[1], strict_mode=True) if len(lines) == 3 else b""  # noqa: PLR2004 - two marks and a line
    except ValueError as error:
        raise refused from error
    if (lines[0], lines[-1]) != (_BEGIN, _END) or len(der) != len(_PREFIX) + _RAW_B or not der.startswith(_PREFIX):
        raise refused
    if binascii.b2a_base64(der, newline=False).decode() != lines[1]:
        raise refused
    return public_of_raw(der[len(_PREFIX) :])


def public_of_raw(raw: bytes) -> Ed25519PublicKey:
    """The key of its 32 bytes.

    Raises:
        SignatureError: there is no such key.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

    try:
        return Ed25519PublicKey.from_public_bytes(raw)
    except ValueError as error:
        raise SignatureError("these are not the bytes of an Ed25519 public key") from error


def public_pem(key: Ed25519PublicKey) -> bytes:
    """The PEM form of a public key."""
    text = binascii.b2a_base64(_PREFIX + key.public_bytes_raw(), newline=False).decode()
    return f"{_BEGIN}\n{text}\n{_END}\n".encode()


def key_id(key: Ed25519PublicKey) -> str:
    """The id of a key, as securesystemslib computes it: SHA-256 of the canonical JSON of the public key."""
    form = {"keytype": "ed25519", "keyval": {"public": key.public_bytes_raw().hex()}, "scheme": "ed25519"}
    return hashlib.sha256(json.dumps(form, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def refuse_reach(key_file: Path, reach: Iterable[Path]) -> None:
    """Refuse a private key that lies where the code that is judged may read.

    Raises:
        SignatureError: it lies at or below one of ``reach``.
    """
    real = key_file.resolve()
    for root in reach:
        if real.is_relative_to(root.resolve()):
            raise SignatureError(
                "the private key lies where the code that is judged may read",
                where=f"{key_file}, below {root}",
                hint="keep it outside the project's interpreter and environment, with mode 0600",
            )


def _private_bytes(name: str) -> bytes:
    try:
        if name.startswith("fd:"):
            os.fstat(int(name[3:]))
            with os.fdopen(int(name[3:]), "rb") as stream:
                return stream.read(_LIMIT_B)
        with open(name, "rb") as file:  # noqa: PTH123 - as above
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode) or mode & 0o077:
                raise SignatureError("others can read this private key, or it is no regular file", where=name, hint=f"chmod 600 {name}")
            return file.read(_LIMIT_B)
    except (OSError, ValueError, OverflowError) as error:
        raise SignatureError(f"the private key cannot be read: {error}", where=name) from error


def _refuse_environment(key: Ed25519PrivateKey, environ: Mapping[str, str]) -> None:
    """Look for the key's secret bytes, as PKCS 8, raw, or hex, in the values of the environment."""
    raw = key.private_bytes_raw()
    # 16 bytes of DER stand before the secret, so base64 of the last 30 bytes of it begins at a multiple of three.
    forms = (*(binascii.b2a_base64(part, newline=False).decode().rstrip("=") for part in (raw[2:], raw)), raw.hex())
    for name, value in environ.items():
        plain = "".join(value.split()).replace("\\n", "")
        if any(form in plain or form in plain.lower() for form in forms):
            raise SignatureError(
                "the private key stands in the environment, where every process of this user can read it",
                where=name,
                hint="write it to a file of mode 0600, or pass it as `fd:N`, and leave it out of the environment of this step",
            )


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
