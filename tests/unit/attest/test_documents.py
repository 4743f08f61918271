"""The documents about attestations: schemas that hold for what is signed, and examples that are what is signed.

``python -m unit.attest.test_documents`` in the folder of the tests writes the examples anew.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from trivet.attest import LEGS, stem_of
from trivet.attest.envelope import sign
from trivet.attest.keys import public_pem
from trivet.attest.log import Log, verdict_entry, withdrawn_entry
from trivet.attest.statement import leg_file_statement, vsa_statement
from trivet.verifying import Wanted, answer, check_folder
from unit.attest.counts import count
from unit.attest.made import KEY, NOW, document, leg_file, random_document, statement, trust

DOCS = Path(__file__).resolve().parents[3] / "docs" / "attestations"
EXAMPLE = DOCS / "example"


def schema(name: str) -> jsonschema.Draft202012Validator:
    """One of our schemas, itself checked."""
    data = json.loads((DOCS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(data)
    return jsonschema.Draft202012Validator(data)


def example() -> dict[str, bytes]:
    """The files of the example folder, by name."""
    data = document(src_score="FAIL")
    legs = {leg: leg_file_statement(leg_file(leg, data), leg, now=NOW, session="run-1") for leg in LEGS}
    joined = statement(data, session="run-1")
    made = {f"{stem_of(leg)}.dsse.json": sign(legs[leg], KEY) for leg in LEGS}
    made["decision.dsse.json"] = sign(joined, KEY)
    made["decision.vsa.dsse.json"] = sign(vsa_statement(joined, dict(made)), KEY)
    return made | {"gate-key.pub": public_pem(KEY.public_key()), "decision.json": json.dumps(data).encode()}


def shown() -> dict[str, Any]:
    """The statements of the documentation, by the schema that they show."""
    data = document(src_score="FAIL")
    joined = statement(data, session="run-1")
    leg = leg_file_statement(leg_file("src-score", data), "src-score", now=NOW, session="run-1")
    return {"leg": leg, "decision": joined, "summary": vsa_statement(joined, {"decision.dsse.json": sign(joined, KEY)})}


@pytest.mark.parametrize("name", ["leg", "decision", "summary"])
def test_the_example_of_each_statement_is_what_is_signed(name: str) -> None:
    """And its schema holds for it."""
    text = (DOCS / f"{name}.example.json").read_text()
    assert json.loads(text) == shown()[name], "run python -m unit.attest.test_documents in tests/"
    schema(name).validate(json.loads(text))


def test_the_example_folder_is_what_is_signed_and_verifies() -> None:
    """With the key beside it, file by file."""
    assert {path.name: path.read_bytes() for path in EXAMPLE.iterdir()} == example()
    found = answer((EXAMPLE / "decision.dsse.json").read_bytes(), trust(), Wanted(), now=NOW)
    check_folder(str(EXAMPLE), found, trust(), now=NOW)
    for path in EXAMPLE.glob("*.dsse.json"):
        schema("envelope").validate(json.loads(path.read_text()))


def test_the_schemas_hold_for_whatever_is_signed() -> None:
    """Statements about random decisions."""
    dice = random.Random(5)
    checks = {name: schema(name) for name in ("leg", "decision", "summary")}
    for _ in range(count(20, 500)):
        data = random_document(dice)
        joined = statement(data)
        checks["decision"].validate(joined)
        checks["summary"].validate(vsa_statement(joined, {}))
        for leg in LEGS:
            checks["leg"].validate(leg_file_statement(leg_file(leg, data), leg, now=NOW))


def test_the_schema_of_the_log_holds_for_its_lines(tmp_path: Path) -> None:
    """Verdicts and withdrawals."""
    data = (EXAMPLE / "decision.dsse.json").read_bytes()
    found = answer(data, trust(), Wanted(), now=NOW)
    log = Log(tmp_path / "log")
    entry = verdict_entry(data, found.facts, merge=found.merge, key=found.key)
    log.append(entry, now=NOW)
    log.append(withdrawn_entry(entry["sha256"], "wrong base"), now=NOW)
    rows = list(log.entries())
    assert [schema("log-entry").is_valid(row) for row in rows] == [True, True]
    assert not any(schema("log-entry").is_valid({**row, "kind": "praise"}) for row in rows)


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.pop("subject"),
        lambda s: s["subject"].pop(),
        lambda s: s["predicate"].pop("timeCreated"),
        lambda s: s["predicate"]["properties"].append("OTHER"),
        lambda s: s["predicate"]["urn:trivet:attestation:v1"].update(more=1),
        lambda s: s["predicate"]["urn:trivet:attestation:v1"]["legs"].pop(),
        lambda s: s["predicate"]["urn:trivet:attestation:v1"]["base"].update(commit="b" * 39),
    ],
)
def test_the_schema_refuses_what_is_not_as_documented(change: Any) -> None:
    """It can fail."""
    made = statement()
    change(made)
    if len(made.get("subject", ())) == 2:
        made["subject"].pop()
    assert list(schema("decision").iter_errors(made))


if __name__ == "__main__":
    EXAMPLE.mkdir(parents=True, exist_ok=True)
    for file, content in example().items():
        (EXAMPLE / file).write_bytes(content)
    for kind, made in shown().items():
        (DOCS / f"{kind}.example.json").write_text(json.dumps(made, indent=2) + "\n")
