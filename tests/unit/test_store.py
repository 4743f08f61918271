"""The store: rows that are whole or not there, bounded, safe beside other processes, and no authority when it is damaged."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from trivet.store import FILE, Store, trusted


def put(folder: Path, key: str = "k", value: bytes = b"value", family: str = "f") -> Store:
    """A store with one row."""
    store = Store(folder)
    assert store.put("evidence", key, value, family=family)
    return store


def execute(folder: Path, statement: str) -> None:
    """Change the file behind the store's back."""
    with closing(sqlite3.connect(folder / FILE)) as link, link:
        link.execute(statement)


def test_a_row_comes_back_with_its_family(tmp_path: Path) -> None:
    assert put(tmp_path).get("evidence", "k") == ("f", b"value")
    assert Store(tmp_path).get("decision", "k") is None


@pytest.mark.parametrize("column", ["value = x'00'", "family = 'other'", "key = 'k2'", "digest = x'00'", "value = 3"])
def test_a_row_that_says_something_else_than_its_digest_is_no_row(tmp_path: Path, column: str) -> None:
    put(tmp_path)
    execute(tmp_path, f"UPDATE rows SET {column}")
    assert Store(tmp_path).get("evidence", "k2" if "k2" in column else "k") is None


def test_a_swapped_row_is_no_row(tmp_path: Path) -> None:
    """The PASS of another change, put under this key, does not fit its digest."""
    put(tmp_path, "k", b"red")
    put(tmp_path, "other", b"green")
    execute(tmp_path, "UPDATE rows SET value = (SELECT value FROM rows WHERE key = 'other') WHERE key = 'k'")
    assert Store(tmp_path).get("evidence", "k") is None


@pytest.mark.parametrize("data", [b"no database at all, but long enough to be read as one" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_set_aside_with_one_message(tmp_path: Path, data: bytes) -> None:
    (tmp_path / FILE).write_bytes(data)
    said: list[str] = []
    store = Store(tmp_path, said.append)
    assert store.get("evidence", "k") is None
    assert store.put("evidence", "k", b"v", family="f")
    assert store.get("evidence", "k") == ("f", b"v")
    assert len(said) == 1
    assert "set aside" in said[0]
    assert (tmp_path / f"{FILE}.aside").read_bytes() == data


def test_a_file_of_another_version_is_set_aside(tmp_path: Path) -> None:
    put(tmp_path)
    execute(tmp_path, "PRAGMA user_version = 99")
    said: list[str] = []
    assert Store(tmp_path, said.append).get("evidence", "k") is None
    assert len(said) == 1
    assert "version 99" in said[0]


def test_a_file_that_lost_its_tables_is_no_crash(tmp_path: Path) -> None:
    put(tmp_path)
    execute(tmp_path, "DROP TABLE quarantine")
    said: list[str] = []
    assert Store(tmp_path, said.append).get("evidence", "k") is None
    assert said


def test_a_damaged_page_never_gives_a_value(tmp_path: Path) -> None:
    """Whatever 512 bytes are destroyed, the value is the old one or none."""
    for number in range(50):
        put(tmp_path, f"k{number}", os.urandom(3000))
    whole = (tmp_path / FILE).read_bytes()
    right = {f"k{number}": Store(tmp_path).get("evidence", f"k{number}") for number in range(50)}
    for at in range(0, len(whole), max(512, len(whole) // 40)):
        (tmp_path / FILE).write_bytes(whole[:at] + b"\xa5" * 512 + whole[at + 512 :])
        for key in ("k0", "k25", "k49"):
            assert Store(tmp_path).get("evidence", key) in (None, right[key])
        for left in tmp_path.glob(f"{FILE}-*"):
            left.unlink()


def test_the_least_used_rows_go_first(tmp_path: Path) -> None:
    store = Store(tmp_path, bound_b=20_000)
    for number in range(40):
        assert store.put("evidence", f"k{number}", os.urandom(1000), family="f")
    info = store.info()
    assert isinstance(info["bytes"], int)
    assert info["bytes"] <= 20_000
    assert store.get("evidence", "k39") is not None
    assert store.get("evidence", "k0") is None
    assert not store.put("evidence", "huge", os.urandom(30_000), family="f")


def test_a_family_in_quarantine_is_kept_out_until_clear(tmp_path: Path) -> None:
    store = put(tmp_path)
    put(tmp_path, "other", family="g")
    store.quarantine("f", "two verdicts")
    assert store.get("evidence", "k") is None
    assert not store.put("evidence", "k", b"again", family="f")
    assert store.get("evidence", "other") is not None
    assert store.info()["quarantine"] == [("f", "two verdicts")]
    store.clear()
    assert store.put("evidence", "k", b"again", family="f")


def test_check_removes_what_is_wrong(tmp_path: Path) -> None:
    put(tmp_path, "good")
    put(tmp_path, "bad")
    execute(tmp_path, "UPDATE rows SET value = x'00' WHERE key = 'bad'")
    whole, problems = Store(tmp_path).check()
    assert (whole, len(problems)) == (1, 1)
    assert Store(tmp_path).check() == (1, [])


def test_a_folder_is_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    assert trusted(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    assert trusted(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    said: list[str] = []
    assert not trusted(tmp_path, said.append)
    assert len(said) == 1


def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    said: list[str] = []
    assert not trusted(tmp_path, said.append)
    assert "another user" in said[0]


def test_a_file_in_the_place_of_the_folder_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("")
    said: list[str] = []
    assert not trusted(tmp_path / "c", said.append)
    assert len(said) == 1
