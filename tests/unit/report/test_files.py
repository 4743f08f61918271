from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from trivet.errors import OutputError, TrivetError
from trivet.report import files
from unit.report.decisions import blocked, hostile, merged

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "docs" / "decision.schema.json").read_text())
WORDS = {"src_score.txt", "oracle_integrity.txt", "flake_lease.txt"}
ALL = WORDS | {"src_score.json", "oracle_integrity.json", "flake_lease.json", "decision.json", "summary.md", "junit.xml"}


def test_the_files_of_the_contract_are_written_and_no_other(tmp_path: Path) -> None:
    files.write(blocked(), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == ALL
    assert (tmp_path / "src_score.txt").read_bytes() == b"NOT_RUN\n"
    assert (tmp_path / "oracle_integrity.txt").read_bytes() == b"FAIL\n"
    assert (tmp_path / "flake_lease.txt").read_bytes() == b"PASS\n"


@pytest.mark.parametrize("make", [merged, blocked, hostile])
def test_decision_json_is_valid_and_reads_back(make, tmp_path: Path) -> None:
    decision = make()
    files.write(decision, tmp_path)
    data = json.loads((tmp_path / "decision.json").read_text())
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    back = files.read(tmp_path)
    assert back.merge is decision.merge
    assert [verdict.status for verdict in back.verdicts] == [verdict.status for verdict in decision.verdicts]
    assert [finding.path for verdict in back.verdicts for finding in verdict.findings] == [
        finding.path for verdict in decision.verdicts for finding in verdict.findings
    ]


def test_the_schema_refuses_what_is_not_a_decision(tmp_path: Path) -> None:
    files.write(merged(), tmp_path)
    data = json.loads((tmp_path / "decision.json").read_text())
    for bad in ({**data, "more": 1}, {**data, "merge": "yes"}, {**data, "schema": 2}, {key: data[key] for key in data if key != "verdicts"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(SCHEMA).validate(bad)


def test_keys_stand_in_the_order_of_the_contract(tmp_path: Path) -> None:
    files.write(merged(), tmp_path)
    assert list(json.loads((tmp_path / "decision.json").read_text())) == [
        "schema", "tool", "base", "head", "turned_green", "merge_base", "score_tree", "policy", "change", "verdicts", "merge",
        "replay_key", "run", "advisory",
    ]  # fmt: skip


def test_a_path_that_is_not_utf8_comes_with_its_bytes(tmp_path: Path) -> None:
    files.write(hostile("\udcff"), tmp_path)
    text = (tmp_path / "decision.json").read_text("ascii")
    assert '"path_b64"' in text


def test_clear_leaves_no_stale_word_and_nothing_of_an_earlier_run(tmp_path: Path) -> None:
    files.write(merged(), tmp_path, envelopes={"decision.dsse.json": b"{}"})
    (tmp_path / ".trivet-left.tmp").write_text("half")
    (tmp_path / "notes.md").write_text("mine")
    files.clear(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == WORDS | {"notes.md"}
    assert {(tmp_path / name).read_text() for name in WORDS} == {"NOT_RUN\n"}


def test_clear_for_one_leg_leaves_the_words_of_other_jobs(tmp_path: Path) -> None:
    files.write(merged(), tmp_path)
    files.clear(tmp_path, legs=("src-score",))
    assert (tmp_path / "flake_lease.txt").read_text() == "PASS\n"
    assert (tmp_path / "src_score.txt").read_text() == "NOT_RUN\n"
    assert not (tmp_path / "decision.json").exists()


def test_a_job_of_one_leg_writes_its_files_only(tmp_path: Path) -> None:
    files.write(merged(), tmp_path, legs=("flake-lease",))
    assert {path.name for path in tmp_path.iterdir()} == {"flake_lease.txt", "flake_lease.json"}
    verdict, facts, _ = files.read_leg(tmp_path, "flake-lease")
    assert verdict.status == "PASS"
    assert facts["base"] == {"commit": "a" * 40, "tree": "b" * 40}


def test_a_failed_write_leaves_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.clear(tmp_path)
    real = files.replace

    def full_disk(path: Path, content: bytes) -> None:
        if path.name == "flake_lease.txt" and content == b"PASS\n":
            raise OSError(28, "No space left on device")
        real(path, content)

    monkeypatch.setattr(files, "replace", full_disk)
    with pytest.raises(OutputError, match="No space left"):
        files.write(merged(), tmp_path)
    assert {(tmp_path / name).read_text() for name in WORDS} == {"NOT_RUN\n"}


def test_a_folder_that_cannot_be_made_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        files.clear(tmp_path / "file" / "out")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("src_score.txt", "PASS"),
        ("src_score.txt", "PASS\nPASS\n"),
        ("src_score.txt", "FAIL\n"),
        ("src_score.txt", ""),
        ("decision.json", "{"),
        ("decision.json", "[]"),
        ("decision.json", '{"schema": 1, "schema": 1}'),
        ("decision.json", '{"schema": NaN}'),
        ("decision.json", "{}"),
    ],
)
def test_reading_refuses_what_was_not_written_by_us(name: str, content: str, tmp_path: Path) -> None:
    files.write(merged(), tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(TrivetError):
        files.read(tmp_path)


def test_reading_refuses_a_merge_that_the_verdicts_do_not_carry(tmp_path: Path) -> None:
    files.write(blocked(), tmp_path)
    data = json.loads((tmp_path / "decision.json").read_text())
    (tmp_path / "decision.json").write_text(json.dumps({**data, "merge": True}))
    with pytest.raises(TrivetError, match="contradicts itself"):
        files.read(tmp_path)


def test_reading_refuses_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(TrivetError, match="no such verdict file"):
        files.read(tmp_path)
