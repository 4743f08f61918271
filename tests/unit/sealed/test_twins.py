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
