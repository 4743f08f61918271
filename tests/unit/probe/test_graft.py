"""What is compiled of a part is what is compiled of the whole."""

from __future__ import annotations

import ast
from types import CodeType

import pytest
from _pytest.assertion.rewrite import rewrite_asserts

from trivet.probe import graft

SOURCE = '''"""Text."""
from __future__ import annotations
import os
try:
    import json
except ImportError:
    json = None

LIMIT = 3

def helper(x):
    assert x, "no"
    return [y for y in x if y]

class TestOne:
    """Text."""
    limit = 4

    def setup_method(self):
        self.x = helper([1])

    @staticmethod
    def _private(y=LIMIT):
        assert os.path.join("a", "b") == "a/b"
        return json.dumps(y)

    class Inner:
        def test_inner(self):
            def nested():
                assert __class__ is not None
            nested()
            assert super().__init__() is None

def test_two():
    assert helper([2]) == [2]
    assert (lambda: 1)() == 1

if LIMIT:
    def test_three():
        assert LIMIT == 3
'''
PATH = "/tree/test_x.py"


def code_of(tree: ast.Module) -> CodeType:
    """Compile a tree as the runner does."""
    rewrite_asserts(tree, SOURCE.encode(), PATH, None)
    code = compile(tree, PATH, "exec", dont_inherit=True)
    assert isinstance(code, CodeType)
    return code


def parts(code: CodeType) -> tuple[object, ...]:
    """All that decides what code does, nested code included."""
    consts = [parts(const) if isinstance(const, CodeType) else repr(const) for const in code.co_consts]
    return (code.co_name, code.co_code, code.co_names, code.co_freevars, code.co_cellvars, code.co_firstlineno, list(code.co_lines()), consts)


@pytest.mark.parametrize("lines", [{12}, {24}, {31, 24}, {29}, {35, 36, 12}])
def test_a_graft_of_the_same_text_is_the_whole(lines: set[int]) -> None:
    """Functions of the module, of classes and of classes in classes: the graft is the file's own code, to the instruction."""
    whole = code_of(ast.parse(SOURCE))
    part = graft.pruned(ast.parse(SOURCE), lines)
    assert part is not None
    assert len(ast.dump(part)) < len(ast.dump(ast.parse(SOURCE)))
    found = graft.grafted(whole, code_of(part))
    assert found is not None
    assert parts(found) == parts(whole)


def test_an_alteration_is_in_the_graft_alone() -> None:
    """The altered function is another one, the others are the kept ones themselves."""
    whole = code_of(ast.parse(SOURCE))
    part = graft.pruned(ast.parse(SOURCE.replace("== [2]", "== [5]")), {35})
    assert part is not None
    found = graft.grafted(whole, code_of(part))
    assert found is not None
    old, new = ({c.co_name: c for c in code.co_consts if isinstance(c, CodeType)} for code in (whole, found))
    assert [name for name in old if old[name] is not new[name]] == ["test_two"]


@pytest.mark.parametrize("lines", [{9}, {40}, {12, 17}])
def test_what_is_no_plain_function_is_left_to_the_whole(lines: set[int]) -> None:
    """Lines of the module itself, of a class body, or of a function under a condition cannot be taken out."""
    assert graft.pruned(ast.parse(SOURCE), lines) is None


def test_code_of_another_file_does_not_fit() -> None:
    """Where the kept code has no such function there is no graft."""
    part = graft.pruned(ast.parse(SOURCE), {35})
    assert part is not None
    assert graft.grafted(code_of(ast.parse(SOURCE.replace("test_two", "test_new"))), code_of(part)) is None
