"""`lease add --flaky` writes a row only for a test that was seen green and red."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from trivet.errors import UsageError
from trivet.leasing import rows
from trivet.leasing.desk import Desk, open_desk
from trivet.leasing.flake import Found
from trivet.legs.flakes import Flake
from trivet.model import Failure

FILE = "tests/sealed/test_a.py"
NOW = 1_800_000_000.0
LAB = SimpleNamespace(say=lambda _line: None)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    files = {"trivet.toml": "schema = 1\n", FILE: "def test_b():\n    assert 0\n", "src/a.py": ""}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return open_desk(tmp_path, NOW)


def found(*kinds: str) -> Found:
    tests = tuple(Flake(id=f"{FILE}::test_b[{n}]", kind=kind, cause="hash order" if kind == "flaky" else "") for n, kind in enumerate(kinds))
    failures = tuple((test.id, Failure(type="ValueError", message="no such name", file=FILE, line=2)) for test in tests)
    return Found(tests=tests, plain_s=1.0, seconds=(), failures=failures)


def add(desk: Desk, monkeypatch: pytest.MonkeyPatch, *kinds: str) -> dict[str, object]:
    monkeypatch.setattr(rows, "look", lambda _lab, _files, say: found(*kinds))
    return rows.add_flaky(desk, LAB, f"{FILE}::test_b", owner="@q", reason="seen", days=7)  # type: ignore[arg-type]


def test_a_flake_is_leased_with_its_failure_and_its_cause(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    row = add(desk, monkeypatch, "flaky", "holds")
    assert (row["failure_signature"], row["reason"]) == ("ValueError: no such name", "seen (flaky: hash order)")
    assert json.loads((desk.tree.root / "ci/flake_leases.json").read_bytes())["leases"] == [row]


@pytest.mark.parametrize(
    ("kinds", "why"),
    [(("fails",), "a defect, not a flake"), (("holds",), "the same way in every run"), (("flaky", "fails"), "for some of its parameters"), ((), "the same way")],
)
def test_nothing_that_always_ends_the_same_way_is(desk: Desk, monkeypatch: pytest.MonkeyPatch, kinds: tuple[str, ...], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        add(desk, monkeypatch, *kinds)
    assert not (desk.tree.root / "ci/flake_leases.json").exists()
