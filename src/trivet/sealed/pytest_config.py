"""What base's own pytest configuration says about the names of test files, found in the order in which pytest looks."""

from __future__ import annotations

import configparser
import tomllib
from typing import Any

from trivet.git import Tree
from trivet.sealed.policy_file import MAX_B

DEFAULT = ("test_*.py", "*_test.py")
_FILES = (b"pytest.toml", b".pytest.toml", b"pytest.ini", b".pytest.ini", b"pyproject.toml", b"tox.ini", b"setup.cfg")
_SECTIONS = {b"pytest.ini": "pytest", b".pytest.ini": "pytest", b"tox.ini": "pytest", b"setup.cfg": "tool:pytest"}


def python_files(tree: Tree) -> tuple[str, ...]:
    """The ``python_files`` patterns of the first configuration file that pytest would take; its defaults where none speaks."""
    return _patterns(_table(tree).get("python_files")) or DEFAULT


def not_collected(tree: Tree) -> tuple[str, ...]:
    """The ``norecursedirs`` patterns that base's own configuration names: pytest finds no test below such a folder."""
    return _patterns(_table(tree).get("norecursedirs"))


def _table(tree: Tree) -> dict[str, Any]:
    """The options of the first configuration file that pytest would take."""
    for name in _FILES:
        data = tree.read(name)
        if data is None or len(data) > MAX_B:
            continue
        options = _options(name, data)
        if options is not None:
            return options
    return {}


def _options(name: bytes, data: bytes) -> dict[str, Any] | None:
    """The pytest table of one file; None when pytest would go on to the next file."""
    text = data.decode("utf-8", "replace")
    return _toml_options(name, text) if name.endswith(b".toml") else _ini_options(name, text)


def _toml_options(name: bytes, text: str) -> dict[str, Any] | None:
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    if name != b"pyproject.toml":
        found = table.get("pytest", {})
        return found if isinstance(found, dict) else {}
    tool = table.get("tool", {})
    pytest = tool.get("pytest") if isinstance(tool, dict) else None
    if not isinstance(pytest, dict):
        return None
    inner = pytest.get("ini_options")
    return inner if isinstance(inner, dict) else pytest


def _ini_options(name: bytes, text: str) -> dict[str, Any] | None:
    # A file that is named for pytest ends its search even without a section.
    without: dict[str, Any] | None = {} if name.endswith(b"pytest.ini") else None
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error:
        return without
    section = _SECTIONS[name]
    return dict(parser[section]) if parser.has_section(section) else without


def _patterns(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.split())
    if isinstance(value, list):
        return tuple(item for item in value if isinstance(item, str))
    return ()
