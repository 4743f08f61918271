"""The advisory lane run for real: what each draft shows, and that none of it decides."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path

import pytest

from repos import Repo
from trivet.cli import main
from trivet.gate import GateRequest, judge
from trivet.legs.join import join

BASE = {
    "src/shop/__init__.py": "def price(n):\n    return n * 3\n",
    "tests/sealed/test_price.py": "from shop import price\n\n\ndef test_zero():\n    assert price(0) == 0\n",
    "tests/sealed/MANIFEST.txt": "tests/sealed/test_price.py\n",
    "ci/flake_leases.json": '{"leases": []}\n',
}
DRAFTS = """import os

import pytest
import shop
from shop import price


def test_shows():
    assert price(2) == 4


def test_needs_what_is_new():
    assert shop.half(4) == 2


def test_on_both():
    assert price(0) < 1


def test_red():
    assert price(1) == 99


@pytest.mark.parametrize("n", range(12))
def test_coin(n):
    assert os.urandom(1)[0] % 2


def test_copies():
    assert price(0) == 0
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Base has a defect; head mends it and brings drafts."""
    made = Repo(tmp_path / "repo")
    made.commit(BASE)
    made.git("tag", "base")
    text = "def price(n):\n    return n * 2\n\n\ndef half(n):\n    return n // 2\n\n\ndef never(n):\n    return n\n"
    made.commit({"src/shop/__init__.py": text, "tests/proposed/test_drafts.py": DRAFTS})
    return made


def test_each_draft_is_told_by_what_it_shows(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Failing on base and passing here, passing on both, red, flaky, a copy of a sealed property; and the changed lines that they cover."""
    summary = tmp_path / "summary.md"
    call = ["advisory", "--repo", str(repo.root), "--base", "base", "--head", "main", "--python", sys.executable, "--summary", str(summary)]
    assert main([*call, "--json"]) == 0, "whatever the drafts say"
    data = json.loads(capsys.readouterr().out)
    told = {name.rpartition("::")[2]: word for name, word in data["tests"]}
    coins = [told.pop(f"test_coin[{n}]") for n in range(12)]
    assert told == {
        "test_shows": "shows the fix",
        "test_needs_what_is_new": "shows the fix",
        "test_on_both": "shows nothing",
        "test_red": "red",
        "test_copies": "shows nothing, copies the sealed property tests/sealed/test_price.py::test_zero",
    }
    # Twelve coins are asked three times where they are red or seem to show something: that none flips has a chance below one in a thousand.
    assert coins.count("flaky") == data["counts"]["flaky"] >= 1
    assert data["coverage"] == pytest.approx(4 / 5), "all changed lines that can run, but the body of `never`"
    text = summary.read_text("utf-8")
    assert text.startswith("## Advisory lane\n")
    assert "Changed lines covered: 80 %" in text
    assert "`tests/proposed/test_drafts.py::test_red` red" in text


def test_nothing_of_the_lane_reaches_the_verdict(repo: Repo) -> None:
    """Red drafts, and a conftest among them that would break every run, beside an honest patch: it merges, the report stands beside."""
    broken = "import os\n\nos._exit(1)\n"
    repo.commit({"tests/proposed/conftest.py": broken})
    decision = judge(GateRequest(repo=repo.root, base="base", head="main", now=1_790_000_000.0, python=sys.executable, controls="off"))
    assert decision.merge
    lane = decision.facts["advisory"]
    assert isinstance(lane, dict)
    assert any("ended early" in note for note in lane["notes"])
    types = [str(parameter.annotation) for parameter in inspect.signature(join).parameters.values()]
    assert not [name for name in types if "Advisory" in name], "the join has no way in for it"
