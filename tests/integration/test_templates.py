"""What `trivet init` writes, and this repository's own action, as outside checkers see them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml

from fakes.github import SHAPES
from needs import checker
from trivet.scaffold import Wishes, scaffold

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    for forge in ("github", "gitlab"):
        scaffold(tmp_path, Wishes(forge=forge, owners=("@rosa",)))
    shutil.copy(ROOT / "action.yml", tmp_path / "action.yml")
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", tmp_path / ".pre-commit-hooks.yaml")
    return tmp_path


def run(*argv: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)


def test_zizmor_finds_nothing_even_when_it_is_pedantic(written: Path) -> None:
    done = run(checker("zizmor"), "--offline", "--no-progress", "--persona", "pedantic", "--collect", "all", "--strict-collection", ".", cwd=written)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "trivet.yml" in done.stderr
    assert "action.yml" in done.stderr


def test_zizmor_does_find_what_is_wrong(written: Path) -> None:
    flow = written / ".github/workflows/trivet.yml"
    flow.write_text(flow.read_text().replace("persist-credentials: false", "persist-credentials: true").replace("@e797f83bcb11b83ae66e0230d6156d7c80228e7c", "@v6"))
    assert run(checker("zizmor"), "--offline", "--no-progress", ".", cwd=written).returncode != 0


@pytest.mark.parametrize(
    ("schema", "path"),
    [("github-workflows", ".github/workflows/trivet.yml"), ("github-actions", "action.yml"), ("gitlab-ci", ".gitlab-ci.yml")],
)
def test_the_bundled_schemas_take_them(written: Path, schema: str, path: str) -> None:
    done = run(checker("check-jsonschema"), "--builtin-schema", f"vendor.{schema}", path, cwd=written)
    assert done.returncode == 0, done.stdout
    text = (written / path).read_text().replace("timeout-minutes: 30", "timeout-minutes: []").replace("using: composite", "using: nothing").replace("stage: test", "stage: []")
    (written / path).write_text(text)
    assert run(checker("check-jsonschema"), "--builtin-schema", f"vendor.{schema}", path, cwd=written).returncode != 0


@pytest.mark.parametrize("name", ["trivet-branch.json", "trivet-push.json"])
def test_github_takes_the_rulesets(written: Path, name: str) -> None:
    """The body of GitHub's own call that makes a ruleset is the measure."""
    schema = SHAPES["POST /repos/{owner}/{repo}/rulesets"]["body"]
    ruleset = json.loads((written / ".github/rulesets" / name).read_text())
    jsonschema.validate(ruleset, schema)
    ruleset["rules"].append({"type": "no_such_rule"})
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(ruleset, schema)


def test_the_ruleset_can_be_bound_to_an_app(tmp_path: Path) -> None:
    scaffold(tmp_path, Wishes(forge="github", app=4711))
    (rule,) = [row for row in json.loads((tmp_path / ".github/rulesets/trivet-branch.json").read_text())["rules"] if row["type"] == "required_status_checks"]
    assert rule["parameters"]["required_status_checks"] == [{"context": "trivet/join", "integration_id": 4711}]


def test_this_repositorys_hooks_call_commands_that_are_there() -> None:
    from trivet.cli.table import COMMANDS

    entries = [line.split(":", 1)[1].split() for line in (ROOT / ".pre-commit-hooks.yaml").read_text().splitlines() if line.strip().startswith("entry:")]
    assert entries
    assert all(words[0] == "trivet" and words[1] in COMMANDS for words in entries)


@pytest.mark.parametrize(("status", "merge"), [(0, "true"), (1, "false"), (2, "false"), (3, "false"), (137, "false")])
def test_the_action_passes_the_gates_exit_status_on_and_shows_the_reasons(tmp_path: Path, status: int, merge: str) -> None:
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    script = next(step["run"] for step in steps if step.get("id") == "gate")
    stub = tmp_path / "trivet/bin/trivet"
    stub.parent.mkdir(parents=True)
    stub.write_text(f'#!/bin/sh\nmkdir -p out\necho "$@" > out/args\necho reasons > out/summary.md\nexit {status}\n')
    stub.chmod(0o755)
    env = {
        "PATH": os.defpath, "RUNNER_TEMP": str(tmp_path), "BASE": "b", "HEAD": "h; touch injected", "PROJECT": "python3", "OUT": "out", "REVIEW": "r.json",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "GITHUB_OUTPUT": str(tmp_path / "output"),
    }  # fmt: skip
    done = subprocess.run(["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script], cwd=tmp_path, env=env, check=False)
    assert done.returncode == status
    assert (tmp_path / "output").read_text() == f"merge={merge}\n"
    assert (tmp_path / "summary").read_text() == "reasons\n"
    assert "--review r.json" in (tmp_path / "out/args").read_text()
    assert not (tmp_path / "injected").exists()
