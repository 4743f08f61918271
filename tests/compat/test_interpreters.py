"""The probe in every interpreter of this host that has pytest, from 3.9 on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compat import project, runs
from trivet.stage.runner import PROBE

_ASK = "import pytest; print('yes')"
VERSIONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
_HOMES = (Path.home() / ".pyenv/versions", Path("/usr/bin"), Path("/usr/local/bin"))
_EXTRA = os.environ.get("TRIVET_COMPAT", "")
"""Folders of more environments with pytest, separated by ``:``."""


def found(version: str) -> list[Path]:
    """Interpreters of one version, environments with pytest first."""
    places = [Path(folder) / "bin/python" for folder in _EXTRA.split(":") if folder]
    places += [home / f"bin/python{version}" for home in _HOMES[0].glob(f"{version}.*")] if _HOMES[0].is_dir() else []
    places += [home / f"python{version}" for home in _HOMES[1:]]
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        places.insert(0, Path(sys.executable))
    return [path for path in places if path.exists() and answer(path, "import sys; print('%d.%d' % sys.version_info[:2])") == version]


def answer(python: Path, code: str) -> str:
    """What an interpreter prints."""
    done = subprocess.run([str(python), "-I", "-c", code], capture_output=True, text=True, check=False, timeout=60)
    return done.stdout.strip()


CI = os.environ.get("CI", "").lower() in ("1", "true")
HERE = [version for version in VERSIONS if not CI or found(version)]
"""Versions to try. What is missing is skipped by name; with CI=true, where nothing may be skipped, it is no case at all."""
WITH_PYTEST = [version for version in HERE if not CI or any(answer(path, _ASK) == "yes" for path in found(version))]


@pytest.mark.parametrize("version", HERE)
def test_the_probe_compiles(version: str) -> None:
    """Each file of the probe compiles in this version."""
    pythons = found(version)
    if not pythons:
        pytest.skip(f"no Python {version} on this host (pyenv install {version})")
    code = (
        f"import pathlib\nfor f in pathlib.Path({str(PROBE)!r}).glob('*.py'): compile(f.read_text('utf-8'), str(f), 'exec')\nprint('good')"
    )
    assert answer(pythons[0], code) == "good"


@pytest.mark.parametrize("version", WITH_PYTEST)
def test_the_probe_sees_every_shape_of_test(version: str, tmp_path: Path) -> None:
    """Each shape of test is seen alike in this version."""
    python = next((path for path in found(version) if answer(path, _ASK) == "yes"), None)
    if python is None:
        pytest.skip(f"no Python {version} with pytest on this host (make an environment with pytest and name it in TRIVET_COMPAT)")
    generated = answer(python, "import hypothesis; print('yes')") == "yes"
    files = project.write(tmp_path / "tree", {"tests/sealed/test_zgenerated.py": project.GENERATED} if generated else None)
    record = runs.run(tmp_path / "tree", files, python, tmp_path / "scratch")
    seen = runs.outcomes(record)
    assert record.end.how == "closed", record.output
    assert {name: seen.get(name) for name in project.EXPECTED} == project.EXPECTED
    by_source = {result.id.partition("::")[2] for result in record.results if result.by_source}
    assert by_source == {"test_left_by_source", "Unit::test_left", *(["test_thrown_away"] if generated else [])}
