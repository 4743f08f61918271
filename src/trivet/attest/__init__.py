"""Verdicts that can be checked later by somebody who trusts only a key: in-toto statements in DSSE envelopes, and what goes with them.

``statement`` makes statements, ``envelope`` signs and opens them, ``decided`` says what an opened one means, ``keys`` and ``trust`` are
about keys, ``log`` and ``merkle`` are the transparency log, ``keyless`` is the seam to Sigstore. Verifying loads as little as it can: no
room here imports ``pathlib``, ``dataclasses``, ``datetime`` or the key serialization of cryptography on the way to an answer.
"""

from __future__ import annotations

from typing import Any

Data = dict[str, Any]
"""What JSON can hold."""

LEGS = ("flake-lease", "oracle-integrity", "src-score")
"""The legs as ``trivet.model.LEGS`` has them; that room is not loaded, so that verifying starts quickly."""
PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
SVR = "https://in-toto.io/attestation/svr/v0.2"
VSA = "https://slsa.dev/verification_summary/v1"
EXTENSION = "urn:trivet:attestation:v1"
"""The field of a predicate in which everything stands that the in-toto predicates have no field for."""
MERGE_OK = "TRIVET_MERGE_OK"
LIMIT_B = 64_000_000
"""No envelope of ours is longer."""
SKEW_S = 300
"""How far the clock of a signer may be ahead of ours."""


def property_of(leg: str) -> str:
    """The SVR property of a leg: ``src-score`` gives ``TRIVET_SRC_SCORE``."""
    return "TRIVET_" + leg.upper().replace("-", "_")


def stem_of(leg: str) -> str:
    """The file name of a leg without its ending: ``src-score`` gives ``src_score``."""
    return leg.replace("-", "_")
