"""`trivet gate --sign` and `trivet verdict --sign` on real repositories: what is signed, and which keys are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from repos import VERDICTS, Repo
from trivet.attest.keys import load_private, new_key
from trivet.cli import main


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A mixed change, which is judged without running anything."""
    made = Repo(tmp_path / "repo")
    made.commit(VERDICTS)
    made.git("checkout", "-q", "-b", "patch")
    made.commit({"src/pkg/core.py": "def double(n):\n    return 4\n", "tests/sealed/test_core.py": "def test_double():\n    pass\n"})
    return made


def gate(repo: Repo, out: Path, *more: str, command: tuple[str, ...] = ("gate",)) -> int:
    """Call a judging command."""
    return main([*command, "--repo", str(repo.root), "--base", "main", "--head", "patch", "--out", str(out), "--no-cache", *more])


def test_a_refusal_is_signed_leg_by_leg_and_as_a_whole(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the repository's name and the session in it."""
    private, public = new_key(tmp_path / "key")
    out = tmp_path / "out"
    assert gate(repo, out, "--sign", str(private), "--repository", "https://forge.example/o/r", "--session", "9", "--vsa") == 1
    assert sorted(path.name for path in out.glob("*.dsse.json")) == [
        "decision.dsse.json", "decision.vsa.dsse.json", "flake_lease.dsse.json", "oracle_integrity.dsse.json", "src_score.dsse.json",
    ]  # fmt: skip
    capsys.readouterr()
    args = ["verify", str(out), "--key", str(public), "--repo", str(repo.root), "--head", "patch", "--base", "main"]
    assert main([*args, "--repository", "https://forge.example/o/r", "--session", "9", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["verified"], told["merge"], told["verdicts"]["oracle-integrity"]) == (True, False, "FAIL")
    assert gate(repo, out) == 1
    assert not list(out.glob("*.dsse.json"))


def test_a_leg_that_is_judged_alone_is_signed_alone(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And joins with what other jobs signed."""
    private, public = new_key(tmp_path / "key")
    for leg, status in (("oracle-integrity", 1), ("flake-lease", 3)):
        assert gate(repo, tmp_path / "out", "--sign", str(private), "--session", "1", command=("verdict", leg)) == status
    assert sorted(path.name for path in (tmp_path / "out").glob("*.dsse.json")) == ["flake_lease.dsse.json", "oracle_integrity.dsse.json"]
    assert main(["join", str(tmp_path / "out"), "--key", str(public), "--session", "1", "--sign", str(private)]) == 1
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "out"), "--key", str(public)]) == 1
    told = capsys.readouterr()
    assert told.out.splitlines()[-1:] == ["MERGE_BLOCKED: NOT_RUN FAIL NOT_RUN"], told.err


def test_a_key_within_reach_of_the_run_is_refused_before_anything_runs(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Committed, beside the interpreter, or in the environment; the words say NOT_RUN."""
    private, _ = new_key(tmp_path / "key")
    beside = tmp_path / "venv"
    (beside / "bin").mkdir(parents=True)
    (beside / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (beside / "bin" / "python").symlink_to("/usr/bin/python3")
    inside, _ = new_key(beside / "key")
    assert gate(repo, tmp_path / "out", "--sign", str(inside), "--python", str(beside / "bin" / "python")) == 3
    (repo.root / "key").write_bytes(private.read_bytes())
    repo.commit()
    (repo.root / "key").chmod(0o600)
    assert gate(repo, tmp_path / "out", "--sign", str(repo.root / "key")) == 3
    monkeypatch.setenv("GATE_KEY", private.read_text())
    assert gate(repo, tmp_path / "out", "--sign", str(private)) == 3
    assert {path.read_text() for path in (tmp_path / "out").glob("*.txt")} == {"NOT_RUN\n"}
    assert load_private(str(private))


def test_what_goes_with_a_signature_needs_one(repo: Repo, tmp_path: Path) -> None:
    """A session that nobody signed would promise what it does not hold."""
    assert gate(repo, tmp_path / "out", "--session", "1") == 2
    assert gate(repo, tmp_path / "out", "--vsa") == 2
