"""What can be altered in a test, and that the altered test then fails where it was altered."""

import ast
import textwrap
import traceback
import warnings

import pytest

from trivet.probe import mutate_sites, mutate_values, tautologies


def kinds_of(body: str) -> tuple[str, ...]:
    source = "def test():\n" + textwrap.indent(textwrap.dedent(body), "    ")
    return mutate_sites.find(source)["test"].sites[0].kinds


def broken(body: str, kind: str, names: dict | None = None, line: int = 2) -> tuple[type, int]:
    """Alter a test, run it, and return what it raised and at which of its lines."""
    source = "def test(self=None):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    tree, told = ast.parse(source), []
    assert mutate_sites.alter(tree, line, kind, mutate_sites.MARK + "0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code = compile(tree, "sealed.py", "exec")
    code = mutate_sites.plant(code, {mutate_sites.MARK + "0": mutate_values.Alter(told.append)})
    space = {"pytest": pytest, **(names or {})}
    exec(code, space)
    try:
        space["test"]()
    except BaseException as error:  # noqa: BLE001
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "sealed.py"]
        assert len(told) == 1
        return type(error), lines[-1]
    raise AssertionError("the altered test passed")


@pytest.mark.parametrize("kind", ["slight", "gross", "sentinel", "negate"])
@pytest.mark.parametrize(
    "body",
    [
        "assert 1 + 1 == 2", "assert 2 == 1 + 1", "x = 'ab'\nassert x.upper() == 'AB'", "assert sorted([2, 1]) == [1, 2]",
        "assert (1 == 1) is True or 0\nassert {'a': 1} == dict(a=1)", "assert 3.0 * 2 == pytest.approx(6.0)",
        "assert [0.1 + 0.2] == pytest.approx([0.3])", "assert round(2.675, 2) == 2.67", "assert len([]) == 0 and True",
    ],
)
def test_an_equality_fails_at_its_line_however_its_expected_side_is_altered(body, kind):
    line = 2 + body.count("\n")
    assert broken(body, kind, line=line) == (AssertionError, line)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("assert None is None", "sentinel"), ("assert 1 in [1, 2]", "sentinel"), ("assert 'a' in 'cab'", "sentinel"),
        ("assert b'a' in b'cab'", "sentinel"), ("assert 1 != 2", "negate"), ("assert 1 not in []", "negate"), ("assert [1]", "negate"),
        ("assert not []", "negate"), ("assert all([1])", "negate"), ("assert isinstance(1, int)", "sentinel"), ("assert 1 < 2 < 3", "negate"),
        ("assert 1 <= 2", "negate"), ("assert [] or 1", "negate"), ("x = 1\nassert x", "canary"),
    ],
)
def test_any_other_condition_fails_at_its_line_when_it_is_altered(body, kind):
    assert broken(body, kind) == (AssertionError, 2)


def test_an_awaited_exception_is_not_the_one_that_comes():
    kind, line = broken("with pytest.raises(ValueError):\n    int('x')", "raises")
    assert (kind, line) == (ValueError, 3)


def test_another_exception_than_the_awaited_one_gets_through():
    kind, line = broken("with pytest.raises(ValueError):\n    int('x')", "intruder")
    assert (kind.__name__, line) == ("Exception", 3)


def test_an_awaited_warning_is_not_the_one_that_comes():
    body = "with pytest.warns(DeprecationWarning):\n    warnings.warn('old', DeprecationWarning)"
    assert broken(body, "raises", {"warnings": warnings})[1] == 2


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("assertEqual(1 + 1, 2)", "slight"), ("assertEqual(1 + 1, 2)", "negate"), ("assertTrue(1)", "negate"), ("assertFalse(0)", "negate"),
        ("assertIsNone(None)", "sentinel"), ("assertIn(1, [1])", "sentinel"), ("assertLessEqual(1, 2)", "negate"),
        ("assertAlmostEqual(1.0, 1.0 + 1e-9)", "gross"), ("assertRaises(ValueError, int, 'x')", "raises"), ("assertListEqual([1], [1])", "slight"),
        ("assertNotIn(1, [])", "negate"), ("assertIsInstance(1, int)", "sentinel"), ("assertCountEqual([1, 2], [2, 1])", "slight"),
        ("assertNotEqual(1, 2)", "negate"), ("assertIs(None, None)", "sentinel"),
    ],
)
def test_a_unittest_assertion_fails_when_it_is_altered(call, kind):
    import unittest

    source = f"class T:\n    def test(self, case):\n        case.{call}\n"
    tree = ast.parse(source)
    assert mutate_sites.alter(tree, 3, kind, mutate_sites.MARK)
    code = mutate_sites.plant(compile(tree, "sealed.py", "exec"), {mutate_sites.MARK: mutate_values.Alter(lambda text: None)})
    space: dict = {}
    exec(code, space)
    with pytest.raises((AssertionError, ValueError)):
        space["T"]().test(unittest.TestCase())


def test_altering_keeps_every_line_number():
    source = "def test():\n    with raises(\n        KeyError\n    ):\n        f()\n    assert (\n        g()\n        == 3\n    )\n"
    for line, kind in ((2, "intruder"), (6, "slight"), (2, "canary")):
        tree = ast.parse(source)
        lines = {node.lineno for node in ast.walk(tree) if hasattr(node, "lineno")}
        assert mutate_sites.alter(tree, line, kind, "m")
        assert {node.lineno for node in ast.walk(tree) if hasattr(node, "lineno")} <= lines


def test_an_assertion_in_a_loop_or_a_branch_is_not_surely_reached():
    source = "def test():\n    assert a == 1\n    for x in y:\n        assert x == 2\n    if z:\n        return\n    assert b == 3\n"
    assert [(site.line, site.sure) for site in mutate_sites.find(source)["test"].sites] == [(2, True), (4, False), (7, False)]


def test_methods_are_named_with_their_class():
    assert list(mutate_sites.find("class A:\n    class B:\n        def test_x(self):\n            assert f()\n")) == ["A::B::test_x"]


def test_the_placeholder_shows_in_no_name():
    tree = ast.parse("def test():\n    assert f() == 1\n")
    mutate_sites.alter(tree, 2, "slight", mutate_sites.MARK)
    code = compile(tree, "sealed.py", "exec")
    inner = next(const for const in code.co_consts if hasattr(const, "co_names"))
    assert all(mutate_sites.MARK not in name for name in (*code.co_names, *inner.co_names, *inner.co_varnames))


@pytest.mark.parametrize(
    "text",
    ["assert True", "assert 1 == 1", "assert x == x", "assert x.y is x.y", "assert (a, 'message') and True or True", "assert 'text'",
     "self.assertTrue(True)", "self.assertEqual(a, a)", "self.assertEqual(1, 1)", "assert {'ok': True} == {'ok': True}", "assert not False"],
)  # fmt: skip
def test_an_assertion_that_cannot_fail_is_named(text):
    assert tautologies.tautologies(f"def test(self):\n    {text}\n") == [(2, text)]


@pytest.mark.parametrize("text", ["assert f() == f()", "assert x == y", "assert x != x", "assert f(1)", "self.assertEqual(f(1), 1)", "assert x"])
def test_an_assertion_that_can_fail_is_not_named(text):
    assert tautologies.tautologies(f"def test(self):\n    {text}\n") == []


@pytest.mark.parametrize(
    ("side", "kinds"),
    [("expected", ["given=expected"]), ("Decimal(expected)", ["given=expected"]), ("expected + 1", []), ("len(expected)", []), ("raw", [])],
)
def test_a_parameter_that_only_the_expected_side_reads_can_be_altered_before_the_test(side, kinds):
    source = f"def test_x(raw, expected):\n    assert f(raw) == {side}\n"
    (site,) = mutate_sites.find(source)["test_x"].sites
    assert [kind for kind in site.kinds if kind.startswith("given")] == kinds
