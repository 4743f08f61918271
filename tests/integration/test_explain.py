"""`trivet explain` answers for paths, rules and the folder of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from repos import VERDICTS, Link, Repo
from trivet.cli import main
from trivet.model import Decision, Finding, Verdict
from trivet.report import files


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    made = Repo(tmp_path / "repo")
    made.commit({**VERDICTS, "src/pkg/link": Link("core.py")})
    monkeypatch.chdir(made.root)
    return made


def explained(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, object]:
    assert main(["explain", *args, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("path", "zone", "by"),
    [
        ("src/pkg/core.py", "source", "zones.source: src/**"),
        ("src/pkg/link", "source", "zones.source: src/**"),
        ("src/pkg", "source", "zones.source: src/**"),
        ("src/pkg/__init__.py", "source", "zones.source: src/**"),
        ("src/json.py", "control", "influence name: module that shadows"),
        ("src/test_core.py", "control", "influence name: module that shadows"),
        ("./ci/../pyproject.toml", "control", "built-in control list: pyproject.toml"),
        ("tests/sealed/conftest.py", "oracle", "zones.oracle: tests/sealed/**"),
        ("nowhere", "control", "in no zone"),
    ],
)
def test_a_path_is_placed_as_the_gate_places_it(repo: Repo, capsys: pytest.CaptureFixture[str], path: str, zone: str, by: str) -> None:
    facts = explained(capsys, path)
    assert (facts["zone"], facts["by"]) == (zone, by)


def test_a_path_is_relative_to_the_folder_of_the_question(
    repo: Repo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo.root / "src")
    assert explained(capsys, "pkg/core.py")["path"] == "src/pkg/core.py"
    assert explained(capsys, str(repo.root / "README.md"))["path"] == "README.md"
    assert explained(capsys, "src/pkg/core.py", "--repo", str(repo.root))["path"] == "src/pkg/core.py"


def test_the_policy_is_read_from_the_named_commit_and_not_from_the_work_tree(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.put({"trivet.toml": 'schema = 1\n[zones]\nsource = ["lib/**"]\n'})
    assert explained(capsys, "lib/a.py")["zone"] == "control"
    oid = repo.commit()
    assert explained(capsys, "lib/a.py", "--base", oid)["zone"] == "source"


def test_keys_that_may_move_are_named(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "pyproject.toml"]) == 0
    assert "project.version" in capsys.readouterr().out


def test_a_rule_is_explained_in_any_case(capsys: pytest.CaptureFixture[str]) -> None:
    facts = explained(capsys, "trv107")
    assert (facts["rule"], facts["leg"]) == ("TRV107", "oracle-integrity")
    assert facts["why"]
    assert facts["next"]


@pytest.mark.parametrize("what", ["TRV999", "../outside", "."])
def test_what_cannot_be_explained_is_a_usage_error(repo: Repo, capsys: pytest.CaptureFixture[str], what: str) -> None:
    assert main(["explain", what]) == 2
    assert "hint" in capsys.readouterr().err


def test_the_folder_of_a_run_is_told_again(repo: Repo, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    failed = Verdict(
        leg="oracle-integrity", status="FAIL", findings=(Finding(rule="TRV101", message="sealed path modified", path=b"tests/sealed/a"),)
    )
    decision = Decision(
        src_score=Verdict(leg="src-score", status="NOT_RUN"), oracle_integrity=failed, flake_lease=Verdict(leg="flake-lease", status="PASS")
    )
    files.write(decision, tmp_path / "out")
    assert main(["explain", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "TRV101" in out
    assert out.endswith("MERGE_BLOCKED: PASS FAIL NOT_RUN\n")


def test_isolation_says_what_each_level_was_seen_to_stop_and_what_the_policy_asks(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.commit({**VERDICTS, "trivet.toml": 'schema = 1\n[score]\nisolation = "split"\n'})
    facts = explained(capsys, "--isolation")
    assert facts["isolation"] == "split"
    level = facts["measured"]["auto"]  # type: ignore[index]
    assert level["honest"][0] == level["honest"][1] > 0
    assert level["overfit"][0] < level["overfit"][1], "the threat model says that overfitting is not stopped"


def test_a_question_without_a_thing_is_a_usage_error(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 2
    assert "nothing to explain" in capsys.readouterr().err
