"""What is granted so that an interpreter runs, and what a scratch folder holds."""

from __future__ import annotations

from pathlib import Path

from trivet.stage.wall_limits import spare_uid, tree_usage
from trivet.stage.wall_reach import interpreter_reach


def install(prefix: Path, *extra: str) -> Path:
    """An installation with an interpreter; gives back its path."""
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib" / "python3.11").mkdir(parents=True)
    for name in extra:
        (prefix / name).mkdir()
    (prefix / "bin" / "python3.11").write_text("")
    return prefix / "bin" / "python3.11"


def below(path: Path, granted: tuple[Path, ...]) -> bool:
    """Whether the path is granted."""
    return any(path == one or one in path.parents for one in granted)


def test_an_environment_brings_its_base_installation(tmp_path):
    """A virtual environment is granted with the installation that its settings name."""
    base = install(tmp_path / "base")
    environment = tmp_path / "venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "pyvenv.cfg").write_text(f"home = {base.parent}\ninclude-system-site-packages = false\n")
    (environment / "bin" / "python").symlink_to(base)
    granted = interpreter_reach(environment / "bin" / "python")
    assert below(environment / "lib", granted)
    assert below(tmp_path / "base" / "lib" / "python3.11" / "os.py", granted)
    assert not below(tmp_path / "other", granted)


def test_links_are_followed_step_by_step(tmp_path):
    """A link to a link to an interpreter reaches the installation."""
    exe = install(tmp_path / "deep" / "prefix")
    (tmp_path / "one").symlink_to(exe)
    (tmp_path / "two").symlink_to(tmp_path / "one")
    assert below(exe, interpreter_reach(tmp_path / "two"))


def test_a_home_folder_is_not_granted_because_python_lies_in_it(tmp_path):
    """A prefix with more in it than Python is narrowed to its Python parts."""
    home = tmp_path / "home"
    exe = install(home, "documents", "project")
    granted = interpreter_reach(exe)
    assert below(exe, granted)
    assert below(home / "lib" / "python3.11" / "os.py", granted)
    assert not below(home / "documents", granted)
    assert not below(home / ".ssh", granted)


def test_nothing_of_root_or_home_is_in_the_systems_part(tmp_path):
    """What every run may read is the system's alone."""
    granted = interpreter_reach(tmp_path / "none")
    for path in ("/root/x", "/home/a/x", "/etc/shadow", "/var/lib/x", "/proc/1/environ", "/sys/x", "/tmp/x"):
        assert not below(Path(path), granted), path


def test_usage_counts_bytes_not_links(tmp_path):
    """Sizes are summed over the tree; links are not followed; too many entries count as too much."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_bytes(b"x" * 100_000)
    (tmp_path / "loop").symlink_to(tmp_path)
    used = tree_usage((str(tmp_path), str(tmp_path / "not there")), most=1 << 30)
    assert 100_000 <= used < 200_000
    assert tree_usage((str(tmp_path),), most=1000) > 1000


def test_spare_uids_are_nobodys():
    """An unused uid is neither root, nor a usual user, nor nobody."""
    for _ in range(20):
        assert 1000 < spare_uid() < 2**32 - 2
        assert spare_uid() not in (65533, 65534, 65535)
