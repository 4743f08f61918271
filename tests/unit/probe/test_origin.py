"""Whose doing a skip is, and whether it speaks of the environment."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trivet.probe import wire
from trivet.probe.origin import Places, speaks_of_environment


def places(root: Path) -> Places:
    job = wire.Job(
        root=str(root), files=["src/shop/test_inner.py"], paths=[], nonce="n", source_roots=[str(root / "src")], source_names=["shop"]
    )
    return Places(job)


@pytest.mark.parametrize(
    ("path", "module", "place"),
    [
        ("src/shop/a.py", "shop.a", "source"),
        ("src/shop/test_inner.py", "shop.test_inner", "sealed"),
        ("tests/test_a.py", "test_a", "sealed"),
    ],
)
def test_a_file_of_the_tree_is_source_or_sealed(tmp_path: Path, path: str, module: str, place: str) -> None:
    """A file of the tree is source or sealed; a sealed file inside of a source root stays sealed."""
    assert places(tmp_path).of(str(tmp_path / path), {"__name__": module}) == place


def test_code_without_a_file_belongs_to_its_module(tmp_path: Path) -> None:
    """Code without a file belongs to the module whose globals it has."""
    assert places(tmp_path).of("<string>", {"__name__": "shop.made"}) == "source"
    assert places(tmp_path).of("<string>", {}) == "made"
    assert places(tmp_path).of(pytest.__file__, {"__name__": "pytest"}) == "library"


def test_a_frame_of_production_code_is_found_in_a_traceback(tmp_path: Path) -> None:
    """A traceback that runs through production code is its doing."""
    names: dict[str, object] = {"__name__": "shop.a"}
    exec(compile("def leave():\n    raise ValueError", str(tmp_path / "src/shop/a.py"), "exec"), names)
    leave = names["leave"]
    assert callable(leave)
    try:
        leave()
    except ValueError:
        traceback = sys.exc_info()[2]
    assert places(tmp_path).raised_by_source(traceback)
    assert not places(tmp_path).raised_by_source(None)


ENVIRONMENT = [
    "import sys, pytest\n@pytest.mark.skipif(sys.platform == 'win32', reason='x')\ndef test_a(): pass\n",
    "import sys, pytest\nOLD = sys.version_info < (3, 12)\n@pytest.mark.skipif(OLD, reason='x')\ndef test_a(): pass\n",
    "import pytest\ntry:\n    import np\n    HAVE = True\nexcept ImportError:\n    HAVE = False\n@pytest.mark.skipif(not HAVE, reason='x')\ndef test_a(): pass\n",
    "import pytest\nfrom compat import WIN\n@pytest.mark.skipif(not WIN, reason='x')\ndef test_a(): pass\n",
    "import pytest\n@pytest.mark.skipif('sys.platform == \"win32\"', reason='x')\ndef test_a(): pass\n",
]
OTHERS = [
    "import pytest\n@pytest.mark.skip(reason='x')\ndef test_a(): pass\n",
    "import pytest, shop\n@pytest.mark.skipif(not shop.FEATURE, reason='x')\ndef test_a(): pass\n",
    "import pytest\n@pytest.mark.skipif(True, reason='x')\ndef test_a(): pass\n",
    "not python at all (",
]


@pytest.mark.parametrize(("text", "wanted"), [*((text, True) for text in ENVIRONMENT), *((text, False) for text in OTHERS)])
def test_conditions_on_the_environment_are_told_from_others(tmp_path: Path, text: str, wanted: bool) -> None:
    """Conditions on platform, version or a missing package are told from conditions on anything else."""
    (tmp_path / "test_a.py").write_text(text)
    line = next((number for number, row in enumerate(text.splitlines(), 1) if row.startswith("@")), 1)
    assert speaks_of_environment("x", str(tmp_path), "test_a.py", -1, line) is wanted


@pytest.mark.parametrize(
    "reason", ["could not import 'np': No module named 'np'", "requires Python 3.12", "only on Windows", "running as root"]
)
def test_reasons_may_speak_of_the_environment(tmp_path: Path, reason: str) -> None:
    """A reason may speak of the environment by itself."""
    assert speaks_of_environment(reason, str(tmp_path), "missing.py", 1)


def test_a_skip_inside_an_environment_branch_is_of_the_environment(tmp_path: Path) -> None:
    """A skip that is written inside a branch on the platform is of the environment."""
    (tmp_path / "test_a.py").write_text(
        "import os, pytest\ndef test_a():\n    if os.name == 'nt':\n        pytest.skip('x')\n    pytest.skip('y')\n"
    )
    assert speaks_of_environment("x", str(tmp_path), "test_a.py", 4)
    assert not speaks_of_environment("y", str(tmp_path), "test_a.py", 5)
