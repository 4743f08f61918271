"""`trivet seal` and `trivet lease` in real work trees, with real runs behind the wall."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from needs import needs
from trivet.cli import main

DAY_S = 86_400
TEST = """import sys
import unittest

import pytest

from shop import price


def test_good():
    assert price(1) == 2


@pytest.mark.skip(reason="later")
def test_skipped():
    assert price(2) == 5, "two is dear"


@pytest.mark.xfail(reason="known")
def test_expected():
    raise ValueError("no such thing")


@pytest.mark.skipif(sys.platform == "linux", reason="not here")
def test_elsewhere():
    assert False


@pytest.mark.parametrize("n", [1, 2, 3])
def test_some(n):
    if n == 2:
        pytest.skip("impossible")
    assert n != 2


class TestOld(unittest.TestCase):
    @unittest.skip("todo")
    def test_method(self):
        self.assertEqual(price(1), 3)
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = {
        "trivet.toml": 'schema = 1\n[score]\npaths = ["src"]\nclock = "real"\n',
        "src/shop.py": "def price(n):\n    return 2 * n\n",
        "tests/sealed/test_shop.py": TEST,
        "fixtures/sealed/one two.json": "{}\n",
        "fixtures/sealed/back\\slash": "x\n",
        "fixtures/sealed/deep/er.txt": "y\n",
        "fixtures/sealed/MANIFEST.sha256": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(tree: Path) -> dict[str, dict[str, object]]:
    return {row["qualname"]: row for row in json.loads((tree / "ci/flake_leases.json").read_text())["leases"]}


def test_seal_writes_what_check_then_accepts(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["seal", "--check"]) == 1
    assert main(["seal"]) == 0
    assert "wrote  tests/sealed/MANIFEST.txt" in capsys.readouterr().out
    assert main(["seal", "--check"]) == 0
    assert (tree / "tests/sealed/MANIFEST.txt").read_text() == "tests/sealed/test_shop.py\n"
    (tree / "fixtures/sealed/deep/er.txt").write_text("z\n")
    assert main(["seal", "--check"]) == 1
    assert "TRV112" in capsys.readouterr().out


@needs("sha256sum", "coreutils")
def test_sha256sum_accepts_what_seal_writes(tree: Path) -> None:
    assert main(["seal"]) == 0
    done = subprocess.run(
        ["sha256sum", "--strict", "-c", "MANIFEST.sha256"], cwd=tree / "fixtures/sealed", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": OK") == 3


def test_digest_prints_the_digest_and_nothing_else(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lease", "digest", "tests/sealed/test_shop.py", "test_skipped"]) == 0
    first = capsys.readouterr().out
    assert first.startswith("v1:")
    assert len(first) == len("v1:") + 64 + 1
    file = tree / "tests/sealed/test_shop.py"
    file.write_text("# moved\n" + TEST.replace('@pytest.mark.skip(reason="later")\n', ""))
    assert main(["lease", "digest", str(file), "test_skipped"]) == 0
    assert capsys.readouterr().out == first
    assert main(["lease", "digest", str(file), "test_none"]) == 2


def test_digest_needs_no_repository_and_takes_the_folder_it_is_called_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    inner = tmp_path / "inner"
    (inner / "tests/sealed").mkdir(parents=True)
    (inner / "tests/sealed/conftest.py").write_text("import pytest\n\n\n@pytest.fixture\ndef n():\n    return 1\n")
    (inner / "tests/sealed/test_a.py").write_text("def test_a(n):\n    assert n\n")
    monkeypatch.chdir(inner)
    main(["lease", "digest", "tests/sealed/test_a.py", "test_a"])
    first = capsys.readouterr().out
    (inner / "tests/sealed/conftest.py").write_text("import pytest\n\n\n@pytest.fixture\ndef n():\n    return 2\n")
    main(["lease", "digest", "tests/sealed/test_a.py", "test_a"])
    assert capsys.readouterr().out not in ("", first)


@pytest.mark.kernel
def test_adopt_leases_what_is_skipped_and_records_how_it_fails(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["seal"])
    assert main(["lease", "check"]) == 1
    assert main(["lease", "adopt", "--owner", "@q", "--days", "60", "--python", sys.executable]) == 0
    found = rows(tree)
    assert {name: row["failure_signature"] for name, row in found.items()} == {
        "test_shop.test_skipped": "AssertionError: two is dear",
        "test_shop.test_expected": "ValueError: no such thing",
        "test_shop.test_some": "AssertionError: assert 2 != 2",
        "tests/sealed/test_shop.py::TestOld.test_method": "AssertionError: 2 != 3 @ tests/sealed/test_shop.py",
    }
    assert all(row["owner"] == "@q" and 59 * DAY_S < row["expires_at"] - time.time() <= 60 * DAY_S for row in found.values())
    assert main(["lease", "check"]) == 0
    before = (tree / "ci/flake_leases.json").read_bytes()
    assert main(["lease", "adopt", "--owner", "@q", "--days", "60", "--python", sys.executable]) == 0
    assert (tree / "ci/flake_leases.json").read_bytes() == before
    capsys.readouterr()
    assert main(["lease", "list"]) == 0
    assert "4 leases" in capsys.readouterr().out


@pytest.mark.kernel
def test_add_renew_and_remove_touch_one_row(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["seal"])
    words = ["--owner", "@q", "--reason", "slow driver", "--python", sys.executable]
    assert main(["lease", "add", "tests/sealed/test_shop.py::test_skipped", "--days", "5", *words]) == 0
    assert main(["lease", "add", "test_shop.test_good", *words]) == 2
    assert "needs no lease" in capsys.readouterr().err
    assert main(["lease", "add", "test_shop.test_expected", "--signature", "ValueError: no*", *words]) == 0
    old = (tree / "ci/flake_leases.json").read_text().splitlines()
    assert main(["lease", "renew", "test_shop.test_skipped", "--days", "30", "--python", sys.executable]) == 0
    new = (tree / "ci/flake_leases.json").read_text().splitlines()
    assert sum(a != b for a, b in zip(old, new, strict=True)) == 1
    assert main(["lease", "remove", "test_shop.test_skipped"]) == 0
    assert list(rows(tree)) == ["test_shop.test_expected"]
    assert main(["lease", "add", "test_shop.test_skipped", "--days", "500", "--no-run", "--signature", "E: xxx", *words]) == 2


def test_a_broken_ledger_is_not_edited(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "ci").mkdir()
    (tree / "ci/flake_leases.json").write_text('{"leases": [}')
    assert (
        main(["lease", "add", "test_shop.test_skipped", "--owner", "o", "--reason", "r", "--no-run", "--signature", "ValueError: xyz"]) == 2
    )
    assert (tree / "ci/flake_leases.json").read_text() == '{"leases": [}'
    assert main(["lease", "check"]) == 1
    assert "TRV310" in capsys.readouterr().out
