"""What the subject of split isolation sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from trivet.stage.split import environment, is_visible, lay_visible, script


@pytest.mark.parametrize(
    ("path", "zone", "seen"),
    [
        ("src/a.py", "source", True),
        ("src/tests/data.py", "source", True),
        ("README.md", "inert", True),
        ("pyproject.toml", "control", True),
        ("tests/sealed/test_a.py", "oracle", False),
        ("fixtures/sealed/a.json", "oracle", False),
        ("tests/proposed/test_a.py", "proposed", False),
        ("tests/helper.py", "control", False),
        (".github/workflows/ci.yml", "control", False),
        ("trivet.toml", "control", False),
        ("conftest.py", "control", False),
    ],
)
def test_the_subject_sees_source_and_nothing_of_the_tests(path: str, zone: str, seen: bool) -> None:
    """Source and what an installed copy could hold is visible; oracles, tests and CI are not."""
    assert is_visible(path, zone) is seen


def test_the_environment_has_no_mark_of_a_test_run() -> None:
    """Neither clock nor runner nor this gate shows in it."""
    names = environment(Path("/usr/bin/python3"), Path("/srv/x"))
    assert not [name for name in names if name.startswith(("PYTEST", "SOURCE_DATE", "CI", "TRIVET", "PYTHONPATH"))]


def test_only_visible_files_are_laid(tmp_path: Path) -> None:
    """Files are copied with their folders; others stay away."""
    (tmp_path / "tree/src/pkg").mkdir(parents=True)
    (tmp_path / "tree/src/pkg/a.py").write_text("x")
    (tmp_path / "tree/secret").write_text("y")
    lay_visible(tmp_path / "tree", ["src/pkg/a.py"], tmp_path / "app")
    assert [str(path.relative_to(tmp_path / "app")) for path in sorted((tmp_path / "app").rglob("*")) if path.is_file()] == ["src/pkg/a.py"]


def test_the_program_travels_whole() -> None:
    """One script holds all parts, and compiles."""
    text = script(5, Path("/srv/app"), Path("/srv/x"), ["/srv/app/src"])
    compile(text, "<site>", "exec")
    assert b"split_subject" in text
