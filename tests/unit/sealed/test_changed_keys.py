"""Which keys of a TOML file moved; what is allowed cannot hide what is not."""

from __future__ import annotations

import pytest

from trivet.sealed.changed_keys import changed_keys

OLD = '[project]\nname = "a"\nversion = "1"\n\n[tool.ruff]\nline-length = 100\n'


@pytest.mark.parametrize(
    ("new", "keys"),
    [
        (OLD, ()),
        ("# note\n" + OLD, ()),
        ('[tool.ruff]\nline-length = 100\n[project]\nversion = "1"\nname = "a"\n', ()),
        (OLD.replace('"1"', '"2"'), ("project.version",)),
        (OLD.replace('"1"', "1"), ("project.version",)),
        (OLD.replace("100", "100.0"), ("tool.ruff.line-length",)),
        (OLD + "[tool.ruff.lint]\nselect = []\n", ("tool.ruff.lint.select",)),
        (OLD.replace('version = "1"\n', ""), ("project.version",)),
        ('[project]\nname = "a"\nversion = "1"\n', ("tool.ruff.line-length",)),
        (
            OLD + '[tool.pytest.ini_options]\naddopts = "-x"\ntestpaths = []\n',
            ("tool.pytest.ini_options.addopts", "tool.pytest.ini_options.testpaths"),
        ),
        (OLD + '["tool.ruff"]\nx = 1\n', ("'tool.ruff'.x",)),
        (OLD + '[tool."ruff.x"]\nx = 1\n', ("tool.'ruff.x'.x",)),
        (OLD + "[tool.empty]\n", ("tool.empty",)),
        ('tool = 1\n[project]\nname = "a"\nversion = "1"\n', ("tool",)),
        ("not toml", None),
        ("x = 1\nx = 2\n", None),
    ],
)
def test_each_key_that_differs_is_named(new: str, keys: tuple[str, ...] | None) -> None:
    assert changed_keys(OLD.encode(), new.encode()) == keys


def test_what_is_not_text_is_not_toml() -> None:
    assert changed_keys(b"", b"\xff") is None
    assert changed_keys(b"", b"#" * (10 * 1024 * 1024 + 1)) is None
