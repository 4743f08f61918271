"""A Sigstore of our own, offline: a certificate authority, a log of certificates, a log of signatures, and bundles that they vouch for.

Everything is made with fresh keys and the real formats, so that the real client verifies it against the roots of this world and no others.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
import struct
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from trivet.attest import PAYLOAD_TYPE
from trivet.attest.envelope import pae
from trivet.attest.merkle import leaf_hash

_ISSUER = ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
_SCTS = ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
_SHA = ec.ECDSA(hashes.SHA256())


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def public(key: ec.EllipticCurvePrivateKey) -> bytes:
    """The DER form of the public half; its SHA-256 is the id of a log."""
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def der(data: bytes, tag: int) -> bytes:
    """A short DER value."""
    size = len(data)
    return bytes([tag, size]) + data if size < 128 else bytes([tag, 0x81, size]) + data


class World:
    """Certificate authority and both logs; ``at`` is the time at which everything happens."""

    def __init__(self, at: float) -> None:
        self.at = int(at)
        self.authority, self.certificates, self.signatures = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority"), x509.NameAttribute(NameOID.ORGANIZATION_NAME, "world")])
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        self._root = (
            self._builder(name, name, self.authority, days=100)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self.authority.public_key()), critical=False)
            .sign(self.authority, hashes.SHA256())
        )

    def roots(self) -> bytes:
        """The content of ``trusted_root.json``."""
        start = self._time(self.at - 86_400).strftime("%Y-%m-%dT%H:%M:%SZ")

        def log(key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
            shown = {"rawBytes": text(public(key)), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": {"start": start}}
            ident = {"keyId": text(hashlib.sha256(public(key)).digest())}
            return {"baseUrl": "https://log.example", "hashAlgorithm": "SHA2_256", "publicKey": shown, "logId": ident}

        authority = {
            "subject": {"organization": "world", "commonName": "authority"}, "uri": "https://authority.example",
            "certChain": {"certificates": [{"rawBytes": text(self._root.public_bytes(Encoding.DER))}]}, "validFor": {"start": start},
        }  # fmt: skip
        data = {"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1", "tlogs": [log(self.signatures)]}
        return json.dumps({**data, "certificateAuthorities": [authority], "ctlogs": [log(self.certificates)]}).encode()

    def bundle(self, payload: bytes, *, subject: str, issuer: str) -> bytes:
        """A bundle over a payload, signed by whom ``issuer`` calls ``subject``."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._certificate(key, subject, issuer)
        signature = key.sign(pae(payload), _SHA)
        material = {"certificate": {"rawBytes": text(certificate.public_bytes(Encoding.DER))}, "tlogEntries": [self._entry(payload, signature, certificate)]}
        envelope = {"payload": text(payload), "payloadType": PAYLOAD_TYPE, "signatures": [{"sig": text(signature)}]}
        made = {"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": material, "dsseEnvelope": envelope}
        return json.dumps(made).encode() + b"\n"

    def _certificate(self, key: ec.EllipticCurvePrivateKey, subject: str, issuer: str) -> x509.Certificate:
        usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
        builder = (
            self._builder(x509.Name([]), self._root.subject, key, days=0)
            .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(subject)]), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.authority.public_key()), critical=False)
            .add_extension(x509.UnrecognizedExtension(_ISSUER, issuer.encode()), critical=False)
        )
        bare = builder.sign(self.authority, hashes.SHA256()).tbs_certificate_bytes
        entry = hashlib.sha256(public(self.authority)).digest() + struct.pack("!I", len(bare))[1:] + bare
        moment = self.at * 1000
        proof = self.certificates.sign(struct.pack(f"!BBQH{len(entry)}sH", 0, 0, moment, 1, entry, 0), _SHA)
        log_id = hashlib.sha256(public(self.certificates)).digest()
        sct = struct.pack(f"!B32sQHBBH{len(proof)}s", 0, log_id, moment, 0, 4, 3, len(proof), proof)
        listed = struct.pack(f"!HH{len(sct)}s", len(sct) + 2, len(sct), sct)
        return builder.add_extension(x509.UnrecognizedExtension(_SCTS, der(listed, 0x04)), critical=False).sign(self.authority, hashes.SHA256())

    def _entry(self, payload: bytes, signature: bytes, certificate: x509.Certificate) -> dict[str, Any]:
        row = {"signature": text(signature), "verifier": text(certificate.public_bytes(Encoding.PEM))}
        spec = {
            "envelopeHash": {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()},
            "payloadHash": {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()},
            "signatures": [row],
        }
        body = json.dumps({"apiVersion": "0.0.1", "kind": "dsse", "spec": spec}, sort_keys=True, separators=(",", ":")).encode()
        log_id = hashlib.sha256(public(self.signatures)).digest()
        promise = {"body": text(body), "integratedTime": self.at, "logID": log_id.hex(), "logIndex": 0}
        stamp = self.signatures.sign(json.dumps(promise, sort_keys=True, separators=(",", ":")).encode(), _SHA)
        root = leaf_hash(body)
        note = f"log.example\n1\n{text(root)}\n"
        signed = f"{note}\n\u2014 log.example {text(log_id[:4] + self.signatures.sign(note.encode(), _SHA))}\n"
        proof = {"logIndex": "0", "rootHash": text(root), "treeSize": "1", "hashes": [], "checkpoint": {"envelope": signed}}
        return {
            "logIndex": "0", "logId": {"keyId": text(log_id)}, "kindVersion": {"kind": "dsse", "version": "0.0.1"},
            "integratedTime": str(self.at), "inclusionPromise": {"signedEntryTimestamp": text(stamp)}, "inclusionProof": proof,
            "canonicalizedBody": text(body),
        }  # fmt: skip

    def _builder(self, subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, *, days: int) -> x509.CertificateBuilder:
        lasts = dt.timedelta(days=days, minutes=10)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._time(self.at) - (lasts if days else dt.timedelta(0)))
            .not_valid_after(self._time(self.at) + lasts)
        )

    @staticmethod
    def _time(seconds: int) -> dt.datetime:
        return dt.datetime.fromtimestamp(seconds, dt.UTC)
