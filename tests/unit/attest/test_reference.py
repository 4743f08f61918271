"""Our statements and envelopes beside the reference code: in-toto-attestation reads and writes the one, securesystemslib the other."""

from __future__ import annotations

import json
import random

import pytest
from google.protobuf import json_format, struct_pb2
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey

from trivet.attest import LEGS, PAYLOAD_TYPE, Data
from trivet.attest.decided import decision_of, leg_of
from trivet.attest.envelope import canonical, pae, sign
from trivet.attest.keys import key_id
from trivet.attest.statement import leg_file_statement, vsa_statement
from unit.attest.counts import count
from unit.attest.made import KEY, NOW, OTHER, leg_file, random_document, statement, trust

PUBLIC = SSlibKey.from_crypto(KEY.public_key())


def statements(dice: random.Random) -> list[tuple[str, Data]]:
    """One of each kind, about a random decision."""
    data = random_document(dice)
    joined = statement(data, session=dice.choice(("", "run/7 attempt 1")))
    leg = dice.choice(LEGS)
    return [
        ("decision", joined),
        (leg, leg_file_statement(leg_file(leg, data), leg, now=NOW)),
        ("vsa", vsa_statement(joined, {"decision.dsse.json": b"x"})),
    ]


def test_the_key_id_is_that_of_the_reference() -> None:
    """So that its verifiers find the key."""
    assert PUBLIC.keyid == key_id(KEY.public_key())


def test_the_reference_accepts_what_we_sign_and_refuses_it_for_another_key() -> None:
    """securesystemslib verifies; in-toto-attestation finds a valid Statement v1 and writes the same data again."""
    from in_toto_attestation.v1 import statement as reference
    from in_toto_attestation.v1 import statement_pb2

    dice = random.Random(1)
    for _ in range(count(25, 500)):
        for _kind, made in statements(dice):
            envelope = Envelope.from_dict(json.loads(sign(made, KEY)))
            assert list(envelope.verify([PUBLIC], 1)) == [PUBLIC.keyid]
            with pytest.raises(VerificationError):
                envelope.verify([SSlibKey.from_crypto(OTHER.public_key())], 1)
            assert (envelope.payload, envelope.pae()) == (canonical(made), pae(canonical(made)))
            theirs = json_format.Parse(envelope.payload, statement_pb2.Statement())
            reference.Statement.copy_from_pb(theirs).validate()
            assert json_format.MessageToDict(theirs) == made


def test_we_accept_what_the_reference_makes_and_signs() -> None:
    """Built with in-toto-attestation's classes, signed by securesystemslib, indented as it likes."""
    from in_toto_attestation.v1 import resource_descriptor as descriptor
    from in_toto_attestation.v1 import statement as reference

    dice = random.Random(2)
    for _ in range(count(25, 500)):
        for kind, made in statements(dice):
            subjects = [descriptor.ResourceDescriptor(name=row["name"], digest=row["digest"]).pb for row in made["subject"]]
            predicate = json_format.ParseDict(made["predicate"], struct_pb2.Struct())
            theirs = reference.Statement(subjects, made["predicateType"], predicate)
            theirs.validate()
            payload = json_format.MessageToJson(theirs.pb, indent=dice.choice((None, 1, 4)), ensure_ascii=dice.random() < 0.5).encode()
            envelope = Envelope(payload, PAYLOAD_TYPE, {})
            envelope.sign(CryptoSigner(KEY, PUBLIC))
            opened = trust().open(json.dumps(envelope.to_dict(), indent=dice.choice((None, 2))).encode())
            assert opened.statement == made
            if kind == "decision":
                assert dict(decision_of(opened).statuses) == made["predicate"]["urn:trivet:attestation:v1"]["statuses"]
            elif kind != "vsa":
                assert leg_of(opened, kind).leg == kind


def test_the_predicates_are_those_of_the_reference() -> None:
    """Its own messages for test-result v0.1 and VSA v1 read every field of ours but the one extension."""
    from in_toto_attestation.predicates.test_result.v0 import test_result_pb2
    from in_toto_attestation.predicates.vsa.v1 import vsa_pb2

    dice = random.Random(3)
    for _ in range(count(20, 500)):
        (_, _joined), (_, leg), (_, vsa) = statements(dice)
        own = {name: value for name, value in leg["predicate"].items() if not name.startswith("urn:")}
        theirs = json_format.ParseDict(own, test_result_pb2.TestResult())
        assert json_format.MessageToDict(theirs) == {name: value for name, value in own.items() if value != []}
        # Its message of 2023 has one text for `verifiedLevels`, where the specification has a list.
        own = {name: value for name, value in vsa["predicate"].items() if name != "verifiedLevels"}
        summary = json_format.ParseDict(own, vsa_pb2.VerificationSummary())
        assert json_format.MessageToDict(summary) == own
