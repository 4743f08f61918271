"""The seam to Sigstore (``trivet[sigstore]``): statements signed without a key of one's own, by whom an OpenID token names.

What Sigstore's clients exchange is a *bundle*: a DSSE envelope with the certificate and the entry of the public log. Signing needs the
network and a token of the CI (or a browser); checking needs neither, given a file with the roots of trust.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trivet.attest import PAYLOAD_TYPE
from trivet.attest.envelope import Opened, canonical, statement_of, strict_json
from trivet.attest.trust import Identity
from trivet.errors import SignatureError

EXTRA = "pip install 'trivet[sigstore]'"


class KeylessSigner:
    """Signs with a certificate that Sigstore gives to whoever the ambient OpenID token of the CI names."""

    ending = "sigstore.json"
    key = "sigstore"

    def __init__(self) -> None:
        _library("sigstore.sign")

    def sign(self, statement: Mapping[str, Any]) -> bytes:
        """A Sigstore bundle.

        Raises:
            SignatureError: there is no token, or Sigstore did not answer.
        """
        oidc, signing, models, dsse = (_library(f"sigstore.{name}") for name in ("oidc", "sign", "models", "dsse"))
        try:
            token = oidc.detect_credential()
        except oidc.IdentityError as error:
            raise SignatureError(f"the CI gives no OpenID token: {error}", hint="grant the job `id-token: write`") from error
        if token is None:
            raise SignatureError("there is no OpenID token here", hint="sign keyless in a CI job with `id-token: write`, or --sign KEY")
        try:
            context = signing.SigningContext.from_trust_config(models.ClientTrustConfig.production())
            with context.signer(oidc.IdentityToken(token)) as signer:
                bundle = signer.sign_dsse(git_statement(dsse, canonical(statement)))
        except Exception as error:  # a library of the network: whatever it raises, nothing was signed
            raise SignatureError(f"Sigstore did not sign: {error}", hint="try again; nothing was signed") from error
        return str(bundle.to_json()).encode() + b"\n"


def git_statement(dsse: Any, payload: bytes) -> Any:
    """A statement for Sigstore's client, whose own form knows no ``gitCommit`` and ``gitTree`` (both standard digests of in-toto).

    Args:
        dsse: the module ``sigstore.dsse``.
        payload: the canonical bytes of the statement, which are signed as they stand.
    """
    made = object.__new__(dsse.Statement)
    made._contents = payload
    return made


def open_bundle(data: bytes, identities: Sequence[Identity], root: Path | None) -> Opened:
    """Check a Sigstore bundle against trusted identities; whether the one that signed may have, then, ``Trust.check`` says.

    Args:
        data: the bundle's bytes.
        identities: whose certificates count.
        root: a file with the roots of trust (``trusted_root.json`` or a client trust config); None takes Sigstore's own, from the network.

    Raises:
        SignatureError: no trusted identity signed it, or it was changed.
    """
    models, policies, verifying = (_library(f"sigstore.{name}") for name in ("models", "verify.policy", "verify"))
    if not identities:
        raise SignatureError("this is a Sigstore bundle, and no identity is trusted", hint="name one as [[identity]] in the file of keys")
    strict_json(data, "bundle")
    try:
        bundle = models.Bundle.from_json(data)
    except Exception as error:  # whatever a foreign parser raises, it is refused
        raise SignatureError(f"this is no Sigstore bundle: {error}") from error
    verifier = _verifier(models, verifying, root)
    refused: Exception | None = None
    for row in identities:
        try:
            kind, payload = verifier.verify_dsse(bundle, policies.Identity(identity=row.subject, issuer=row.issuer))
        except Exception as error:  # noqa: BLE001 - whatever a foreign verifier raises, this identity did not sign
            refused = error
            continue
        if kind != PAYLOAD_TYPE:
            raise SignatureError(f"the payload type is {kind!r}, not {PAYLOAD_TYPE!r}")
        return Opened(statement_of(payload), payload, row.label)
    raise SignatureError(f"no trusted identity signed this bundle: {refused}")


def _verifier(models: Any, verifying: Any, root: Path | None) -> Any:
    if root is None:
        try:
            return verifying.Verifier.production()
        except Exception as error:  # a library of the network
            told = f"Sigstore's roots of trust could not be had: {error}"
            raise SignatureError(told, hint="name a file that holds them: --trust-root FILE") from error
    try:
        text = root.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise SignatureError(f"the roots of trust cannot be read: {error}", where=str(root)) from error
    try:
        if "trustedRoot" in json.loads(text):
            return verifying.Verifier(trusted_root=models.ClientTrustConfig.from_json(text).trusted_root)
        return verifying.Verifier(trusted_root=models.TrustedRoot.from_file(str(root)))
    except Exception as error:
        raise SignatureError(f"this file holds no roots of trust: {error}", where=str(root)) from error


def _library(name: str) -> Any:
    import importlib  # noqa: PLC0415

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SignatureError("keyless signing needs the extra `sigstore`", where=name, hint=EXTRA) from error
