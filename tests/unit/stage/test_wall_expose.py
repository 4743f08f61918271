"""Which folders are closed to others, and what is needed below them."""

from __future__ import annotations

from pathlib import Path

from trivet.stage.wall_expose import closed_folders, open_to_others


def test_closed_folders_are_found_with_what_is_needed_below(tmp_path: Path) -> None:
    """The topmost folder closed to others is found, with the topmost needed paths below it."""
    home = tmp_path / "home"
    for name in ("env/bin", "tools/python/lib", "other"):
        (home / name).mkdir(parents=True)
    outside = tmp_path / "open"
    outside.mkdir()
    wanted = [home / "env", home / "env/bin", home / "tools/python", outside]
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & 0o001:
            closed = [parent for parent in reversed(tmp_path.parents) if not parent.stat().st_mode & 0o001]
            assert set(closed_folders(wanted)) == {(closed or [tmp_path])[0]}
            break
    else:
        assert closed_folders(wanted) == {}
        home.chmod(0o700)
        assert closed_folders(wanted) == {home: [home / "env", home / "tools/python"]}


def test_a_file_that_others_cannot_read_is_found(tmp_path: Path) -> None:
    """A file or folder that others cannot read, however deep, is found."""
    for name in ("good", "file", "folder"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep/a").write_text("")
        for path in (tmp_path / name, tmp_path / name / "deep"):
            path.chmod(0o755)
        (tmp_path / name / "deep/a").chmod(0o644)
    (tmp_path / "file/deep/a").chmod(0o600)
    (tmp_path / "folder/deep").chmod(0o700)
    assert [open_to_others(tmp_path / name) for name in ("good", "file", "folder")] == [True, False, False]
