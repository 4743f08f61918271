"""Digests of tests: stable where behaviour is the same, different where it is not."""

import ast
import textwrap

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trivet.errors import UsageError
from trivet.model import Lease
from trivet.sealed.digest import digest_of
from trivet.sealed.matching import holds
from unit.sealed.trees import MemoryTree

TEST = '''
import unittest

import pytest
from helper import twice, unused

from src.shop import price

LIMIT = 3
OTHER = 9
ROWS = [1, pytest.param(2)]


@pytest.fixture
def data():
    return [1]


@pytest.mark.parametrize("x", ROWS)
def test_a(data, client, x):
    """Says something."""
    limit: int = LIMIT
    assert twice(price(x)) == limit, [n for n in data if n > 0]


def test_other():
    assert OTHER


class TestC:
    size = 5

    def setup_method(self):
        self.x = 1

    def helper(self):
        return self.x

    def test_m(self):
        assert self.helper() == self.size

    def test_n(self):
        assert 0
'''
HELPER = "FACTOR = 2\n\n\ndef twice(x):\n    return FACTOR * x\n\n\ndef unused():\n    return 1\n"
CONFTEST = "import pytest\n\n\n@pytest.fixture\ndef base():\n    return 4\n\n\n@pytest.fixture\ndef client(base):\n    return base\n\n\n@pytest.fixture\ndef lonely():\n    return 1\n"


def of(test=TEST, function="test_a", *, helper=HELPER, conftest=CONFTEST, folder="tests/sealed", name="test_a.py"):
    tree = MemoryTree(
        {
            f"{folder}/{name}": test,
            f"{folder}/helper.py": helper,
            "tests/conftest.py" if folder.startswith("tests/") else "conftest.py": conftest,
        }
    )
    return digest_of(tree, f"{folder}/{name}", function, is_sealed=lambda path: b"src" not in path)


BASE = of()

SAME = {
    "lines above": of("# hello\n\n\n" + TEST),
    "another file name": of(name="test_zzz.py"),
    "another folder": of(folder="tests/deeper/below"),
    "a skip mark": of(TEST.replace("@pytest.mark.param", '@pytest.mark.skip(reason="x")\n@pytest.mark.param')),
    "an xfail mark": of(TEST.replace("@pytest.mark.param", "@pytest.mark.xfail(strict=False)\n@pytest.mark.param")),
    "a skipif mark": of(TEST.replace("@pytest.mark.param", '@pytest.mark.skipif("True", reason="")\n@pytest.mark.param')),
    "an aliased mark": of(
        TEST.replace("import pytest\n", "import pytest\nfrom pytest import mark as m\n").replace(
            "@pytest.mark.param", "@m.skip\n@pytest.mark.param"
        )
    ),
    "a mark on a parameter": of(TEST.replace("param(2)", 'param(2, marks=pytest.mark.xfail(reason="x"))')),
    "a module mark": of(TEST.replace("LIMIT = 3", "LIMIT = 3\npytestmark = pytest.mark.skip")),
    "no docstring": of(TEST.replace('"""Says something."""', "pass").replace("    pass\n", "")),
    "another annotation": of(TEST.replace("limit: int", "limit: float")),
    "other brackets": of(TEST.replace("twice(price(x)) == limit", "(twice(\n        price(x)\n    ) == limit)")),
    "a comment": of(TEST.replace("    limit: int", "    # why\n    limit: int")),
    "another test": of(TEST.replace("assert OTHER", "assert not OTHER")),
    "a name that is not used": of(TEST.replace("OTHER = 9", "OTHER = 8")),
    "a helper that is not used": of(helper=HELPER.replace("return 1", "return 2")),
    "a fixture that is not used": of(conftest=CONFTEST.replace("return 1", "return 2")),
    "another order of the file": of(TEST.replace("LIMIT = 3\nOTHER = 9\n", "OTHER = 9\nLIMIT = 3\n")),
}
OTHER = {
    "a constant": of(TEST.replace("LIMIT = 3", "LIMIT = 4")),
    "a type of constant": of(TEST.replace("LIMIT = 3", "LIMIT = 3.0")),
    "true for one": of(TEST.replace("param(2)", "param(True)")),
    "a parameter": of(TEST.replace("[1, pytest", "[0, pytest")),
    "a called name": of(TEST.replace("twice(price(x))", "price(price(x))")),
    "an operator": of(TEST.replace("== limit", "<= limit")),
    "a nested constant": of(TEST.replace("n > 0", "n > 1")),
    "a fixture of the module": of(TEST.replace("return [1]", "return [2]")),
    "a fixture's fixture": of(conftest=CONFTEST.replace("return 4", "return 5")),
    "a helper": of(helper=HELPER.replace("FACTOR * x", "FACTOR + x")),
    "a constant of the helper": of(helper=HELPER.replace("FACTOR = 2", "FACTOR = 3")),
    "an imported name of production code": of(TEST.replace("import price", "import cost as price")),
    "a decorator": of(TEST.replace("@pytest.mark.param", '@pytest.mark.usefixtures("lonely")\n@pytest.mark.param')),
    "an autouse fixture": of(conftest=CONFTEST + "\n\n@pytest.fixture(autouse=True)\ndef always():\n    pass\n"),
    "a hook": of(conftest=CONFTEST + "\n\ndef pytest_runtest_call(item):\n    pass\n"),
    "an effect of conftest": of(conftest=CONFTEST + "\nimport random\nrandom.seed(3)\n"),
    "an argument": of(TEST.replace("(data, client, x)", "(client, x, data)")),
    "a default": of(TEST.replace("client, x)", "client, x=1)")),
    "an emptied body": of(TEST.replace("    assert twice(price(x)) == limit, [n for n in data if n > 0]", "    limit")),
}


@pytest.mark.parametrize("what", SAME)
def test_a_change_that_changes_no_behaviour_keeps_both_digests(what):
    assert (SAME[what].strong, SAME[what].source_hash) == (BASE.strong, BASE.source_hash)


@pytest.mark.parametrize("what", OTHER)
def test_a_change_of_behaviour_changes_both_digests(what):
    assert OTHER[what].strong != BASE.strong
    assert OTHER[what].source_hash != BASE.source_hash


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("assert 0", "assert 1", True),
        ("self.x = 1", "self.x = 2", False),
        ("size = 5", "size = 6", False),
        ("return self.x", "return -self.x", False),
        ("class TestC:", "@pytest.mark.skip\nclass TestC:", True),
        ("class TestC:", '@unittest.skip("x")\nclass TestC:', True),
        ("class TestC:", "@pytest.mark.slow\nclass TestC:", False),
        ("    size = 5", "    size = 5\n    pytestmark = [pytest.mark.skip]", True),
        ("helper() ==", "helper() !=", False),
    ],
)
def test_a_method_is_bound_to_its_class_without_the_other_tests(old, new, same):
    assert (of(TEST.replace(old, new), "TestC.test_m").strong == of(function="TestC.test_m").strong) is same


def test_a_test_that_a_factory_makes_is_bound_to_the_factory():
    text = "def build(n):\n    def inner():\n        assert n == 1\n    return inner\n\n\ntest_x = build(1)\n"
    one, two = of(text, "test_x"), of(text.replace("n == 1", "n == 2"), "test_x")
    assert one.strong != two.strong


def test_an_inherited_test_is_bound_to_where_it_is_written():
    text = "class Base:\n    def test_x(self):\n        assert self.n\n\n\nclass TestA(Base):\n    n = 1\n"
    assert of(text, "TestA.test_x").strong != of(text.replace("self.n", "not self.n"), "TestA.test_x").strong
    assert of(text, "TestA.test_x").strong != of(text.replace("n = 1", "n = 2"), "TestA.test_x").strong


def test_the_weak_form_sees_neither_constants_nor_names():
    assert of(TEST.replace("LIMIT = 3", "LIMIT = 4")).weak == BASE.weak
    assert len(BASE.weak) == 16


def test_a_sum_of_a_thousand_terms_has_a_digest():
    text = "def test_a():\n    assert " + " + ".join(["x"] * 1_000) + "\n"
    assert of(text).strong != of(text.replace("x +", "y +", 1)).strong


def test_what_does_not_exist_is_told():
    with pytest.raises(UsageError, match="has no test_zzz"):
        of(function="test_zzz")
    with pytest.raises(UsageError, match="no Python file"):
        digest_of(MemoryTree({}), "x.py", "f", is_sealed=lambda _: True)


def lease(**changes):
    given = {"digest": BASE.strong, "python": BASE.python, "source_hash": BASE.source_hash}
    return Lease(qualname="test_a.test_a", signature="E: x", expires_at=1.0, owner="o", reason="r", **{**given, **changes})


@pytest.mark.parametrize(
    ("changes", "held"),
    [
        ({}, True),
        ({"digest": "v1:" + "0" * 64}, False),
        ({"digest": "v1:" + "0" * 64, "python": "cpython-39"}, True),
        ({"digest": "v1:" + "0" * 64, "python": "cpython-39", "source_hash": "0" * 64}, False),
        ({"digest": "v1:" + "0" * 64, "python": "cpython-39", "source_hash": None}, False),
        ({"digest": BASE.weak, "weak": True}, True),
        ({"digest": "0" * 16, "weak": True}, False),
    ],
)
def test_a_lease_holds_for_the_code_it_was_given_for(changes, held):
    assert holds(lease(**changes), BASE) is held


NAMES = st.sampled_from(["alpha", "beta", "gamma"])
EXPRESSIONS = st.recursive(
    st.one_of(st.integers(0, 99).map(str), NAMES, st.sampled_from(['"s"', "1.5", "None", "True"])),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: f"({p[0]} + {p[1]})"),
        st.tuples(NAMES, inner).map(lambda p: f"{p[0]}({p[1]})"),
        inner.map(lambda e: f"(lambda: {e})"),
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(EXPRESSIONS, min_size=1, max_size=3), st.lists(EXPRESSIONS, min_size=1, max_size=3), st.integers(0, 5))
def test_two_tests_share_a_digest_exactly_when_their_syntax_trees_are_equal(first, second, lines):
    def text(expressions):
        return "def test_a():\n" + textwrap.indent("\n".join(f"assert {e}" for e in expressions), "    ") + "\n"

    one, two = of("\n" * lines + text(first)), of(text(second))
    assert (one.source_hash == two.source_hash) == (ast.dump(ast.parse(text(first))) == ast.dump(ast.parse(text(second))))
    if one.source_hash == two.source_hash:
        assert one.strong == two.strong
