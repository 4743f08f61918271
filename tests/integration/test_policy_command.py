"""`trivet policy` shows what counts and where it comes from."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from repos import VERDICTS, Repo
from trivet.cli import main


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    made = Repo(tmp_path / "repo")
    made.commit({**VERDICTS, "trivet.toml": 'schema = 1\n\n[score]\nseed = 7\n\n[[score.exclude]]\nid = "a"\nreason = "b"\n'})
    monkeypatch.chdir(made.root)
    return made


def test_each_value_is_shown_with_its_source(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "show"]) == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert rows["score.seed"].endswith("7   # trivet.toml line 4")
    assert rows["score.exclude"].endswith("# trivet.toml line 6")
    assert rows["zones.source"].endswith("# preset verdicts")
    assert rows["oracle.test_patterns"].endswith("# pytest's configuration")


def test_the_policy_is_shown_as_json(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["score"]["seed"] == 7


def test_the_schema_accepts_what_is_read_and_refuses_what_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"schema": 1, "score": {"seed": 3, "clock": "real"}}, schema)
    for bad in ({"schema": 1, "scores": {}}, {"schema": 1, "score": {"timeout_s": 0}}, {"preset": "lanes"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)
