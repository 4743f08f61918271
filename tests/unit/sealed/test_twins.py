"""Tests that a later definition replaces, and honest patterns that look alike."""

import pytest

from trivet.sealed.twins import new_twins, replaced
from unit.sealed.trees import MemoryTree


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def test_a(): pass\ndef test_a(): pass", ["test_a"]),
        ("def test_a(): pass\nasync def test_a(): pass", ["test_a"]),
        ("class TestA:\n    def test_x(self): pass\n    def test_x(self): pass", ["TestA.test_x"]),
        ("class TestA: pass\nclass TestA: pass", ["TestA"]),
        ("def test_a(): pass\ntest_a = None", ["test_a"]),
        ("if 1:\n    def test_a(): pass\n    def test_a(): pass", ["test_a"]),
        ("def test_a(): pass\ndef test_b(): pass", []),
        ("if X:\n    def test_a(): pass\nelse:\n    def test_a(): pass", []),
        ("try:\n    def test_a(): pass\nexcept E:\n    def test_a(): pass", []),
        ("@overload\ndef test_a(): pass\n@overload\ndef test_a(): pass", []),
        ("def test_a(): pass\n@wrap(test_a)\ndef test_a(): pass", []),
        ("def test_a(): pass\ntest_a = wrap(test_a)", []),
        ("def test_a(): pass\ndel test_a\ndef test_a(): pass", []),
        ("def helper(): pass\ndef helper(): pass", []),
        ("class TestA: pass\nclass TestA(TestA): pass", []),
        ("class TestA:\n    @property\n    def testing(self): pass\n    @testing.setter\n    def testing(self, v): pass", []),
        ("def (", []),
    ],
)
def test_only_a_silent_replacement_counts(text, names):
    assert [name for name, _, _ in replaced(text.encode())] == names


def test_only_what_the_change_brings_is_an_error():
    twice = "def test_a(): pass\ndef test_a(): pass\n"
    base, head = MemoryTree({"t.py": twice}), MemoryTree({"t.py": twice, "u.py": twice})
    assert [(drift.path, drift.level) for drift in new_twins(base, ("t.py",), head, ("t.py", "u.py"))] == [("u.py", "error")]


@pytest.mark.parametrize(
    "source",
    [
        b"def test_a(): pass\ndef \\\n test_a(): pass\n",
        b"def test_a(): pass\ndef\ttest_a(): pass\n",
        b"def test_a(): pass\n(test_a) = 3\n",
        b"def test_a(): pass\ntest_a \\\n = 3\n",
        b"def test_a(): pass\nx = test_a = 3\n",
        b"class TestA: pass\nclass\x0cTestA: pass\n",
        "def test_ﬁ(): pass\ndef test_fi(): pass\n".encode(),
    ],
)
def test_what_is_written_oddly_is_not_overlooked(source: bytes) -> None:
    assert len(list(replaced(source))) == 1
