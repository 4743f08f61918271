from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from trivet import __version__
from trivet.cli import main, output
from trivet.cli.completion_command import whole_parser
from trivet.cli.table import COMMANDS
from trivet.legs.join import join
from trivet.model import Verdict
from trivet.report import files
from unit.report.decisions import blocked, merged


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in COMMANDS)
    assert "exit status: 0 may merge" in text


def test_no_command_is_a_usage_error_that_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage: trivet" in capsys.readouterr().out


def test_the_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"trivet {__version__}\n"


def test_an_unknown_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gaet"]) == 2
    assert "did you mean 'gate'" in capsys.readouterr().err


def test_an_unknown_option_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["join", str(tmp_path), "--nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().err


def test_join_prints_the_outcome_last_and_writes_the_decision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files.write(merged(), tmp_path, legs=("src-score", "oracle-integrity", "flake-lease"))
    (tmp_path / "decision.json").unlink()
    assert main(["join", str(tmp_path), "--report", f"sarif={tmp_path / 'r' / 'a.sarif'}"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "MERGE_OK"
    assert files.read(tmp_path).merge
    assert (tmp_path / "r" / "a.sarif").exists()


def test_join_of_a_blocked_change_ends_with_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files.write(blocked(), tmp_path)
    assert main(["join", str(tmp_path), "--json"]) == 1
    assert '"merge": false' in capsys.readouterr().out


def test_join_of_a_mixture_ends_with_three_and_leaves_no_decision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files.write(merged(), tmp_path)
    (tmp_path / "src_score.json").write_text("{}")
    assert main(["join", str(tmp_path)]) == 3
    assert not (tmp_path / "decision.json").exists()
    assert "nothing was judged" in capsys.readouterr().err


@pytest.mark.parametrize("item", ["sarif", "sarif=", "yaml=x", "=x"])
def test_a_report_that_is_not_format_and_file_is_a_usage_error(item: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files.write(merged(), tmp_path)
    assert main(["join", str(tmp_path), "--report", item]) == 2
    assert "FORMAT=FILE" in capsys.readouterr().err
    assert (tmp_path / "decision.json").exists()


def test_the_exit_status_tells_blocked_from_not_judged() -> None:
    unjudged = Verdict(leg="src-score", status="NOT_RUN", cause="infra")
    passed = {"oracle_integrity": Verdict(leg="oracle-integrity", status="PASS"), "flake_lease": Verdict(leg="flake-lease", status="PASS")}
    assert output.exit_status(merged()) == 0
    assert output.exit_status(blocked()) == 1
    assert output.exit_status(join(src_score=unjudged, **passed)) == 3
    assert output.exit_status(join(src_score=None, **passed)) == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_a_completion_script_knows_the_commands(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert "join" in text
    assert shell == "tcsh" or "--report" in text


def test_every_command_that_is_there_has_help_for_every_option() -> None:
    todo = [whole_parser()]
    while todo:
        parser = todo.pop()
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                todo += action.choices.values()
            else:
                assert action.help, (parser.prog, action.dest)


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, trivet.cli; trivet.cli.main(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": ":".join(sys.path)})
    for heavy in ("argparse", "msgspec", "rich", "pathspec", "cryptography", "subprocess", "tempfile", "json", "re", "dataclasses"):
        assert f"'{heavy}'" not in done.stderr, heavy
