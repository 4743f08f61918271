"""`trivet flake` with real runs behind the wall; the whole corpus is run by benchmarks/bench_flakes.py."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from trivet.cli import main

pytestmark = pytest.mark.kernel
CORPUS = Path(__file__).resolve().parents[2] / "benchmarks" / "flakes"
CASES = {row["id"]: row for name in ("flaky", "steady") for row in tomllib.loads((CORPUS / f"{name}.toml").read_text("utf-8"))["case"]}
CHOSEN = (
    *("order_two_setters", "order_environment_variable", "time_bomb", "time_midnight", "zone_epoch_is_local", "hash_bucket", "random_coin"),
    *("threads_no_join", "state_counter", "leftovers_file", "network_online", "locale_open", "pid_parity", "cwd_name"),
    *("equal", "teardown", "os_error", "connection_error"),
)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = {"trivet.toml": 'schema = 1\n[score]\npaths = ["src"]\n', "src/pkg/__init__.py": "", "src/pkg/core.py": "X = 1\n"}
    files |= {f"tests/sealed/test_{name}.py": CASES[name]["text"] for name in CHOSEN}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_cause_is_named_and_nothing_steady_is_called_flaky(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"tests/sealed/test_{name}.py" for name in CHOSEN]
    assert main(["flake", *names, "--python", sys.executable, "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    said = {row["test"]: row for row in data["tests"]}
    wrong = {}
    for name in CHOSEN:
        case = CASES[name]
        row = said[f"tests/sealed/test_{name}.py::{case.get('test', 'test_a')}"]
        wanted = ("flaky", case["cause"]) if "cause" in case else ("fails", "")
        if (row["kind"], row["cause"]) != wanted:
            wrong[name] = (row["kind"], row["cause"], row["shown_by"])
    assert not wrong
    needs = said["tests/sealed/test_order_two_setters.py::test_both"]["detail"]
    assert needs.endswith("::test_first, then tests/sealed/test_order_two_setters.py::test_second")
    assert len(data["runs"]) <= 1 + 10
    assert not data["broken"]
