"""The replay key names what a run depends on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trivet.errors import ProbeError
from trivet.model import ScorePolicy
from trivet.stage.replay import environment_of, epoch_bucket, find_python, replay_key, run_facts


def test_the_digest_covers_every_fact() -> None:
    """The digest covers every fact, in any order."""
    assert replay_key({"a": "1", "b": "2"}) == replay_key({"b": "2", "a": "1"})
    assert replay_key({"a": "1"}).digest != replay_key({"a": "2"}).digest
    assert replay_key({"b": "2", "a": "1"}).facts == (("a", "1"), ("b", "2"))


def test_days_are_the_epoch_buckets() -> None:
    """Moments of one day have one bucket."""
    assert epoch_bucket(86_400.0 * 3 + 5) == epoch_bucket(86_400.0 * 4 - 1) == "3"


def test_installed_distributions_are_facts(tmp_path: Path) -> None:
    """Installed distributions, their versions and path files are facts."""
    site = tmp_path / "v/lib/python3.12/site-packages"
    site.mkdir(parents=True)
    (tmp_path / "v/bin").mkdir()
    python = tmp_path / "v/bin/python"
    python.write_text("")
    (tmp_path / "v/pyvenv.cfg").write_text("home = /x\nversion = 3.12.1\nprompt = p\n")
    (site / "pytest-9.0.1.dist-info").mkdir()
    first = environment_of(python)
    assert "pytest==9.0.1" in first["distributions"]
    assert first["venv version"] == "3.12.1"
    (site / "evil.pth").write_text("import x")
    assert environment_of(python)["distributions"] != first["distributions"]


def test_the_policy_is_part_of_the_facts(tmp_path: Path) -> None:
    """Seeds, limits and exclusions are facts."""
    python = tmp_path / "python"
    python.write_text("")
    facts = run_facts(ScorePolicy(), python, wall="kernel")
    assert facts != run_facts(ScorePolicy(seed=1), python, wall="kernel")
    assert facts != run_facts(ScorePolicy(memory_b=1), python, wall="kernel")
    assert facts != run_facts(ScorePolicy(), python, wall="none")


def test_the_interpreter_is_found_where_the_policy_names_it(tmp_path: Path) -> None:
    """The interpreter is the asked one, the policy's, or the one that runs trivet."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").write_text("")
    assert find_python(ScorePolicy(), repo=tmp_path) == Path(sys.executable)
    assert find_python(ScorePolicy(python="bin/python"), repo=tmp_path) == tmp_path / "bin/python"
    assert find_python(ScorePolicy(), repo=tmp_path, asked=str(tmp_path / "bin/python")) == tmp_path / "bin/python"
    with pytest.raises(ProbeError, match="there is no interpreter bin/other"):
        find_python(ScorePolicy(python="bin/other"), repo=tmp_path)
