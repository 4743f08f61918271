"""Each machine-readable report holds to the schema of its format, for every kind of decision."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from needs import needs
from trivet.model import Decision
from trivet.report import render
from unit.report.decisions import admitted, blocked, hostile, merged, nothing

SCHEMAS = Path(__file__).parents[2] / "data" / "schemas"
DECISION = Path(__file__).parents[3] / "docs" / "decision.schema.json"
KINDS = [merged, blocked, hostile, nothing, admitted]
JSON = {"sarif": SCHEMAS / "sarif-2.1.0.json", "gitlab": SCHEMAS / "gitlab-code-quality.json", "json": DECISION}


def problems(form: str, text: str) -> list[str]:
    """What the schema says against a report."""
    schema = json.loads(JSON[form].read_text("utf-8"))
    checker = jsonschema.validators.validator_for(schema)
    checker.check_schema(schema)
    return [f"{error.json_path}: {error.message[:200]}" for error in checker(schema).iter_errors(json.loads(text))]


@pytest.mark.parametrize("form", sorted(JSON))
@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_json_reports_hold_to_their_schemas(form: str, make: Callable[[], Decision]) -> None:
    assert problems(form, render(form, make())) == []


@needs("xmllint", "libxml2-utils")
@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_junit_holds_to_the_schema_of_its_readers(make: Callable[[], Decision]) -> None:
    text = render("junit", make()).encode("utf-8", "backslashreplace")
    done = subprocess.run(
        ["xmllint", "--nonet", "--noout", "--schema", str(SCHEMAS / "junit-10.xsd"), "-"], input=text, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[:2000]


@pytest.mark.parametrize(
    ("form", "spoil"),
    [
        ("sarif", ('"version": "2.1.0"', '"version": "2.2.0"')),
        ("sarif", ('"level": "error"', '"level": "fatal"')),
        ("gitlab", ('"severity": "blocker"', '"severity": "bad"')),
        ("gitlab", ('"fingerprint"', '"finger"')),
        ("json", ('"merge": false', '"merge": "no"')),
        ("json", ('"schema": 1', '"schema": 1, "more": 2')),
    ],
)
def test_the_schemas_can_object(form: str, spoil: tuple[str, str]) -> None:
    text = render(form, blocked())
    assert spoil[0] in text
    assert problems(form, text.replace(*spoil, 1))
