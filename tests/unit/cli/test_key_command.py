"""`trivet key`: new, show, trust, rotate, revoke."""

from __future__ import annotations

from pathlib import Path

import pytest

from trivet.attest.trust import Trust, read_trust
from trivet.cli import main

Told = pytest.CaptureFixture[str]


def trusted(folder: Path) -> Trust:
    """The file of trusted keys."""
    return read_trust((folder / "ci" / "keys.toml").read_bytes(), "keys.toml")


def key(folder: Path, *args: str) -> int:
    """Call the command with the file of trusted keys."""
    return main(["key", *args, "--keys", str(folder / "ci" / "keys.toml")])


def test_a_new_key_is_shown_by_either_half(tmp_path: Path, capsys: Told) -> None:
    """And as it stands in the file of trusted keys."""
    assert key(tmp_path, "new", "--out", str(tmp_path / "gate"), "--days", "30", "--signs", "decision,log") == 0
    name = capsys.readouterr().out.strip()
    assert [main(["key", "show", str(tmp_path / half)]) for half in ("gate", "gate.pub")] == [0, 0]
    assert capsys.readouterr().out.split() == [name, name]
    row = trusted(tmp_path).keys[name]
    assert (row.name, row.signs, (row.end or 0) - (row.start or 0)) == ("gate", ("decision", "log"), 30 * 86_400)
    assert main(["key", "show", str(tmp_path / "ci" / "keys.toml")]) == 0
    assert capsys.readouterr().out.startswith(f"{name}  until ")


def test_rotating_ends_the_old_key_and_begins_a_new_one(tmp_path: Path, capsys: Told) -> None:
    """After the overlap; nothing of the file is lost."""
    assert main(["key", "new", "--out", str(tmp_path / "old")]) == 0
    old = capsys.readouterr().out.strip()
    assert key(tmp_path, "trust", str(tmp_path / "old.pub")) == 0
    path = tmp_path / "ci" / "keys.toml"
    path.write_text(path.read_text() + "# a note of ours\n")
    before = path.read_text()
    assert key(tmp_path, "rotate", str(tmp_path / "old.pub"), "--out", str(tmp_path / "new"), "--overlap", "2") == 0
    new = capsys.readouterr().out.strip()
    found = trusted(tmp_path)
    assert path.read_text().startswith(before)
    assert set(found.keys) == {old, new}
    assert found.revoked[old][0] - (found.keys[new].start or 0) == 2 * 86_400
    assert found.revoked[old][1] == "rotated"


def test_a_compromised_key_is_revoked_by_the_beginning_of_its_id(tmp_path: Path, capsys: Told) -> None:
    """If that names one key."""
    for name in ("a", "b"):
        key(tmp_path, "new", "--out", str(tmp_path / name))
    first = capsys.readouterr().out.split()[0]
    assert key(tmp_path, "revoke", "") == 2
    assert key(tmp_path, "revoke", "0" * 64) == 2
    assert key(tmp_path, "revoke", first[:8], "--compromised") == 0
    assert {name: reason for name, (_, reason) in trusted(tmp_path).revoked.items()} == {first: "compromised"}


def test_a_key_is_not_trusted_twice_and_a_broken_file_is_not_added_to(tmp_path: Path) -> None:
    """The file stays as it was."""
    key(tmp_path, "new", "--out", str(tmp_path / "gate"))
    path = tmp_path / "ci" / "keys.toml"
    before = path.read_bytes()
    assert key(tmp_path, "trust", str(tmp_path / "gate.pub")) == 3
    assert path.read_bytes() == before
    path.write_bytes(b"schema = 1\nmore = 1\n")
    assert key(tmp_path, "revoke", "0") == 3
    assert path.read_bytes() == b"schema = 1\nmore = 1\n"


@pytest.mark.parametrize(
    "args",
    [
        ["new"], ["new", "x", "--out", "y"], ["show"], ["show", "a", "--out", "b"], ["trust", "a"], ["rotate", "a"], ["revoke"], ["make"],
        ["new", "--out", "x", "--days", "-1"], ["new", "--out", "x", "--days", "nan"], ["trust", "gate.pub", "--keys", "k", "--signs", "all"],
    ],
)  # fmt: skip
def test_a_call_that_lacks_something_is_a_mistake(args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Usage errors end with 2, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    assert main(["key", *args]) == 2
    assert not list(tmp_path.iterdir())
