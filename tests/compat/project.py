"""A small sealed project that shows the probe every shape of test it must see, and what has to come out of each."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "src/shop/__init__.py": "import datetime\n\n\ndef total(prices):\n    return sum(prices)\n\n\ndef stamp():\n    return datetime.datetime.now()\n",
    "src/shop/skips.py": (
        "import sys, unittest\n\n\ndef leave():\n    raise unittest.SkipTest('not today')\n\n\n"
        "def reject():\n    sys.modules['hypothesis'].reject()\n\n\nclass Stop(BaseException):\n    pass\n"
    ),
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-x'\nmarkers = ['slow: takes long']\n",
    "tests/sealed/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef prices():\n    return [1, 2, 3]\n",
    "tests/sealed/test_plain.py": """
import os, random, sys, unittest
import pytest
from shop import total, stamp
from shop.skips import leave, Stop

def test_total(prices): assert total(prices) == 6
def test_fails(): assert total([1]) == 2
@pytest.mark.parametrize("n", [1, 2], ids=["one", "two::x"])
def test_many(n): assert total([n]) == n
@pytest.mark.skip(reason="debt")
def test_debt(): assert False
@pytest.mark.skipif(sys.version_info >= (3, 6), reason="old Python only")
def test_environment(): assert False
@pytest.mark.xfail(reason="known")
def test_known(): assert False
@pytest.mark.xfail(reason="mended", strict=False)
def test_mended(): pass
def test_left_by_source(): leave()
def test_stopped_by_source(): raise Stop("done")
def test_forked():
    pid = os.fork()
    if pid == 0:
        return
    os.waitpid(pid, 0)
def test_seeded(): assert random.random() == random.Random(7).random()
@pytest.fixture
def broken(): raise RuntimeError("setup")
def test_setup_fails(broken): pass
@pytest.fixture
def dirty():
    yield
    raise RuntimeError("teardown")
def test_teardown_fails(dirty): pass
class Unit(unittest.TestCase):
    def test_method(self): self.assertEqual(total([2]), 2)
    def test_sub(self):
        for n in (1, 2):
            with self.subTest(n=n):
                self.assertEqual(n, total([n]))
    def test_left(self): leave()
    @unittest.expectedFailure
    def test_expected(self): self.assertEqual(1, 2)
""",
    "tests/sealed/test_whole.py": "import pytest\n\nno = pytest.importorskip('nothing_of_that_name')\n\ndef test_never(): pass\n",
    "tests/sealed/test_broken.py": "import shop.missing\n\ndef test_never(): pass\n",
}

GENERATED = """
from hypothesis import given, strategies as st
from shop import total
from shop.skips import reject

@given(st.lists(st.integers()))
def test_sum(values): assert total(values) == sum(values)

@given(st.integers())
def test_thrown_away(value):
    if value > 5:
        reject()
    assert value <= 5
"""

EXPECTED = {
    "test_total": "passed",
    "test_fails": "failed",
    "test_many[one]": "passed",
    "test_many[two::x]": "passed",
    "test_debt": "skipped",
    "test_environment": "skipped",
    "test_known": "xfailed",
    "test_mended": "xpassed",
    "test_left_by_source": "skipped",
    "test_stopped_by_source": "failed",
    "test_forked": "passed",
    "test_seeded": "passed",
    "test_setup_fails": "error",
    "test_teardown_fails": "error",
    "Unit::test_method": "passed",
    "Unit::test_sub": "passed",
    "Unit::test_left": "skipped",
    "Unit::test_expected": "xfailed",
}


def write(root: Path, extra: dict[str, str] | None = None) -> tuple[str, ...]:
    """Write the project (and more files) below ``root``; returns its sealed test files."""
    files = {**FILES, **(extra or {})}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tuple(sorted(name for name in files if name.startswith("tests/sealed/test_")))
