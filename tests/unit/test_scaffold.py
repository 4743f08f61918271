from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from trivet.cli import main
from trivet.errors import UsageError
from trivet.git import PlainTree
from trivet.scaffold import Wishes, scaffold
from trivet.sealed.policy import read_policy


def tree(root: Path) -> PlainTree:
    return PlainTree({str(path.relative_to(root)).encode(): path.read_bytes() for path in root.rglob("*") if path.is_file()})


def test_a_fresh_repository_gets_a_policy_that_the_gate_reads_with_the_strong_settings(tmp_path: Path) -> None:
    scaffold(tmp_path, Wishes())
    policy = read_policy(tree(tmp_path))
    assert (policy.preset, policy.score.isolation, policy.score.controls, policy.score.wall, policy.score.vary) == (
        "verdicts", "auto", "sample", "auto", True,
    )  # fmt: skip
    assert policy.zones.source == ("src/**",)
    assert policy.oracle.manifest == "tests/sealed/MANIFEST.txt"
    assert json.loads((tmp_path / "ci/flake_leases.json").read_text()) == {"leases": []}


def test_lanes_are_written_as_the_reader_wants_them(tmp_path: Path) -> None:
    scaffold(tmp_path, Wishes(preset="lanes"))
    policy = read_policy(tree(tmp_path))
    assert policy.preset == "lanes"
    assert policy.oracle.leases == "tests/oracles/flake_leases.json"
    assert policy.zones.proposed == ("/tests/advisory/**",)


def test_packages_at_the_root_are_found_as_production_code(tmp_path: Path) -> None:
    for name in ("alpha", "beta", "tests"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    scaffold(tmp_path, Wishes())
    policy = read_policy(tree(tmp_path))
    assert policy.zones.source == ("/alpha/**", "/beta/**")
    assert policy.score.paths == (".",)


def test_tests_can_be_sealed_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    done = scaffold(tmp_path, Wishes(oracle=("tests/**",), owners=("@a",)))
    policy = read_policy(tree(tmp_path))
    assert policy.zones.oracle[0] == "tests/**"
    assert policy.oracle.manifest == "ci/oracle/MANIFEST.txt"
    assert "tests/sealed/README.md" not in done.wrote
    assert re.search(r"^/tests/ +@a$", (tmp_path / "CODEOWNERS").read_text(), re.MULTILINE)


def test_nothing_is_overwritten_and_the_second_run_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "trivet.toml").write_text("schema = 1\n")
    first = scaffold(tmp_path, Wishes(forge="github", owners=("@a",)))
    assert (tmp_path / "trivet.toml").read_text() == "schema = 1\n"
    assert first.kept == ("trivet.toml",)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    second = scaffold(tmp_path, Wishes(forge="github", owners=("@a",)))
    assert (second.wrote, second.extended) == ((), ())
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_owners_are_appended_to_the_file_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "CODEOWNERS").write_text("* @everyone")
    done = scaffold(tmp_path, Wishes(owners=("@acme/quality", "@bob")))
    lines = (tmp_path / "CODEOWNERS").read_text().splitlines()
    assert lines[0] == "* @everyone"
    assert any(re.fullmatch(r"/tests/sealed/ +@acme/quality @bob", line) for line in lines)
    assert done.extended == ("CODEOWNERS",)


def test_without_an_owner_the_lines_are_told_and_no_name_is_invented(tmp_path: Path) -> None:
    done = scaffold(tmp_path, Wishes())
    assert not (tmp_path / "CODEOWNERS").exists()
    assert any("nobody owns the oracles yet" in note for note in done.notes)


def test_a_link_in_the_way_is_kept(tmp_path: Path) -> None:
    (tmp_path / "trivet.toml").symlink_to(tmp_path / "nowhere")
    assert "trivet.toml" in scaffold(tmp_path, Wishes()).kept
    assert not (tmp_path / "nowhere").exists()


def test_the_other_preset_is_refused_where_lanes_are_in_use(tmp_path: Path) -> None:
    (tmp_path / ".pyrefix-lanes.toml").write_text("")
    with pytest.raises(UsageError, match="lanes already"):
        scaffold(tmp_path, Wishes())


def test_a_gitlab_configuration_that_is_there_gets_a_file_to_include(tmp_path: Path) -> None:
    (tmp_path / ".gitlab-ci.yml").write_text("stages: []\n")
    done = scaffold(tmp_path, Wishes(forge="gitlab"))
    assert "ci/trivet.gitlab-ci.yml" in done.wrote
    assert any("include" in note for note in done.notes)


def test_the_github_workflow_cannot_be_skipped_and_holds_no_token(tmp_path: Path) -> None:
    scaffold(tmp_path, Wishes(forge="github"))
    text = (tmp_path / ".github/workflows/trivet.yml").read_text()
    uses = re.findall(r"uses: (\S+)", text)
    assert uses
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", use) for use in uses)
    assert "permissions: {}" in text
    assert "persist-credentials: false" in text
    assert "if: ${{ always() }}" in text
    assert "merge_group:" in text
    assert "paths:" not in text
    assert "secrets." not in text
    assert "@VERSION@" not in text


def test_the_command_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--repo", str(tmp_path), "--owner", "@a"]) == 0
    out = capsys.readouterr().out
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert f"wrote     {path.relative_to(tmp_path)}\n" in out
    assert "next: " in out
    tomllib.loads((tmp_path / "trivet.toml").read_text())


def test_a_folder_that_is_not_there_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--repo", str(tmp_path / "no")]) == 2
    assert "no such folder" in capsys.readouterr().err
