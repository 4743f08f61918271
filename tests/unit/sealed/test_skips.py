"""Skips in every spelling: found, told conditional from unconditional, and words that are no skips left alone."""

import textwrap

import pytest

from trivet.sealed.skips import scan_skips
from unit.sealed.trees import MemoryTree, policy

T = "tests/sealed/test_a.py"


def sites(text, **others):
    files = {
        T: "import pytest, sys, os, unittest\n" + textwrap.dedent(text),
        **{f"tests/sealed/{name}.py": textwrap.dedent(body) for name, body in others.items()},
    }
    return [
        (site.file.rpartition("/")[2], site.function, site.conditional) for site in scan_skips(MemoryTree(files), (T,), policy=policy())
    ]


UNCONDITIONAL = {
    "mark": ("@pytest.mark.skip\ndef test_x(): pass", "test_x"),
    "called mark": ('@pytest.mark.skip(reason="x")\ndef test_x(): pass', "test_x"),
    "async": ('@pytest.mark.skip(reason="x")\nasync def test_x(): pass', "test_x"),
    "xfail": ("@pytest.mark.xfail(strict=False)\ndef test_x(): pass", "test_x"),
    "constant condition": ('@pytest.mark.skipif(True, reason="x")\ndef test_x(): pass', "test_x"),
    "alias of mark": ("from pytest import mark as m\n@m.skip\ndef test_x(): pass", "test_x"),
    "alias of pytest": ("import pytest as p\n@p.mark.skip\ndef test_x(): pass", "test_x"),
    "getattr": ('@getattr(pytest.mark, "skip")(reason="x")\ndef test_x(): pass', "test_x"),
    "mark in a name": ('slow = pytest.mark.skip(reason="x")\n@slow\ndef test_x(): pass', "test_x"),
    "unittest": ('@unittest.skip("x")\ndef test_x(): pass', "test_x"),
    "expected failure": ("class T(unittest.TestCase):\n    @unittest.expectedFailure\n    def test_x(self): pass", "T.test_x"),
    "class mark": ('@unittest.skip("x")\nclass T(unittest.TestCase):\n    def test_x(self): pass', "T.test_x"),
    "class pytestmark": ("class TestT:\n    pytestmark = [pytest.mark.skip]\n    def test_x(self): pass", "TestT.test_x"),
    "module pytestmark": ("pytestmark = [pytest.mark.skip]\ndef test_x(): pass", "test_x"),
    "appended pytestmark": ("pytestmark = []\npytestmark.append(pytest.mark.skip)\ndef test_x(): pass", "test_x"),
    "module skip": ('pytest.skip("x", allow_module_level=True)\ndef test_x(): pass', ""),
    "call": ('def test_x():\n    pytest.skip("x")', "test_x"),
    "xfail call": ('def test_x():\n    pytest.xfail("x")', "test_x"),
    "raise": ('def test_x():\n    raise unittest.SkipTest("x")', "test_x"),
    "raise pytest's": ('def test_x():\n    raise pytest.skip.Exception("x")', "test_x"),
    "skipTest": ('class T(unittest.TestCase):\n    def test_x(self):\n        self.skipTest("x")', "T.test_x"),
    "set-up": ('class T(unittest.TestCase):\n    def setUp(self):\n        self.skipTest("x")\n    def test_x(self): pass', "T"),
    "helper that skips": ('def no():\n    pytest.skip("x")\ndef test_x():\n    no()', "test_x"),
    "parameter": ('@pytest.mark.parametrize("a", [1, pytest.param(2, marks=pytest.mark.skip)])\ndef test_x(a): pass', "test_x"),
    "parameters in a name": (
        'P = [pytest.param(i, marks=pytest.mark.skip) for i in "ab"]\n@pytest.mark.parametrize("a", P)\ndef test_x(a): pass',
        "test_x",
    ),
    "decorator of our own": ("def slow(f):\n    return pytest.mark.skip(reason='x')(f)\n@slow\ndef test_x(): pass", "test_x"),
    "decorator that wraps": ("def slow(f):\n    def w(*a):\n        pytest.skip('x')\n    return w\n@slow\ndef test_x(): pass", "test_x"),
    "factory": ("def build():\n    @pytest.mark.skip\n    def inner(): pass\n    return inner\ntest_x = build()", "test_x"),
    "applied by hand": ("def real(): pass\ntest_x = pytest.mark.skip(real)", "test_x"),
    "applied in place": ("def test_x(): pass\npytest.mark.skip(test_x)", "test_x"),
    "stored": ("def test_x(): pass\ntest_x.pytestmark = [pytest.mark.skip]", "test_x"),
    "switched off": ("class TestT:\n    __test__ = False\n    def test_x(self): pass", "TestT"),
    "module switched off": ("__test__ = False\ndef test_x(): pass", ""),
    "always true": ('def test_x():\n    if True:\n        pytest.skip("x")', "test_x"),
}
CONDITIONAL = {
    "skipif": ('@pytest.mark.skipif(sys.platform == "win32", reason="x")\ndef test_x(): pass', "test_x"),
    "skipUnless": ('@unittest.skipUnless(os.name == "nt", "x")\ndef test_x(): pass', "test_x"),
    "xfail with condition": ('@pytest.mark.xfail(sys.version_info < (3, 12), reason="x")\ndef test_x(): pass', "test_x"),
    "if": ('def test_x():\n    if sys.platform == "win32":\n        pytest.skip("x")', "test_x"),
    "early return": ('def test_x():\n    if sys.platform != "win32":\n        return\n    pytest.skip("x")', "test_x"),
    "except": ('def test_x():\n    try:\n        import z\n    except ImportError:\n        pytest.skip("x")', "test_x"),
    "importorskip": ('z = pytest.importorskip("z")\ndef test_x(): pass', ""),
    "importorskip inside": ('def test_x():\n    pytest.importorskip("z")', "test_x"),
    "or": ('def test_x():\n    sys.platform == "linux" or pytest.skip("x")', "test_x"),
    "fixture": (
        '@pytest.fixture(autouse=True)\ndef calm(request):\n    if request.node.name == "test_x":\n        pytest.skip("x")\ndef test_x(): pass',
        "calm",
    ),
    "decorator with condition": (
        "def only(f):\n    if os.name == 'nt':\n        return pytest.mark.skip(f)\n    return f\n@only\ndef test_x(): pass",
        "test_x",
    ),
}
NONE = {
    "words as parameters": '@pytest.mark.parametrize("text", ["skip", "xfail", "pytest.mark.skip"])\ndef test_x(text): pass',
    "words in strings": 'def test_x():\n    """pytest.skip"""\n    assert "skip" != "xfail"',
    "a function called skip": "def skip(x): return x\ndef test_x():\n    skip(3)",
    "a method called skip": "def test_x(reader):\n    reader.skip(3)",
    "another mark": "@pytest.mark.slow\ndef test_x(): pass",
    "a mark that nobody uses": "slow = pytest.mark.skip\ndef test_x(): pass",
    "a helper class": "class TestResult:\n    __test__ = False\n    def size(self): return 1\ndef test_x(): pass",
    "a mixin": "class Base:\n    __test__ = False\n    def test_x(self): pass\nclass TestB(Base):\n    __test__ = True",
    "another library's skip": "from itertools import dropwhile as skip\ndef test_x():\n    skip(None, [])",
    "a comment": "# pytest.skip('x')\ndef test_x(): pass",
}


@pytest.mark.parametrize("form", UNCONDITIONAL)
def test_an_unconditional_skip_is_found_where_it_acts(form):
    text, function = UNCONDITIONAL[form]
    assert ("test_a.py", function, False) in sites(text)


@pytest.mark.parametrize("form", CONDITIONAL)
def test_a_conditional_skip_is_left_to_the_run(form):
    text, function = CONDITIONAL[form]
    found = sites(text)
    assert ("test_a.py", function, True) in found
    assert not [site for site in found if not site[2]]


@pytest.mark.parametrize("form", NONE)
def test_a_word_is_no_skip(form):
    assert sites(NONE[form]) == []


@pytest.mark.parametrize(
    ("conftest", "found"),
    [
        ('collect_ignore = ["test_a.py"]', [("collect_ignore", False)]),
        ('collect_ignore_glob = ["*"]', [("collect_ignore_glob", False)]),
        ("collect_ignore = []", []),
        (
            'import sys\ncollect_ignore = []\nif sys.platform == "win32":\n    collect_ignore.append("test_a.py")',
            [("collect_ignore", True)],
        ),
        (
            'import pytest\ncollect_ignore = []\nif not hasattr(pytest, "x"):\n    collect_ignore.append("test_a.py")',
            [("collect_ignore", False)],
        ),
        (
            "def pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if 'x' in i.name]",
            [("pytest_collection_modifyitems", False)],
        ),
        ("def pytest_collection_modifyitems(items):\n    del items[0]", [("pytest_collection_modifyitems", False)]),
        ("def pytest_collection_modifyitems(items):\n    items.clear()", [("pytest_collection_modifyitems", False)]),
        ("def pytest_collection_modifyitems(items):\n    items.sort()", []),
        ("def pytest_collection_modifyitems(items):\n    items[:] = sorted(items, key=str)", []),
        ("def pytest_ignore_collect(path):\n    return True", [("pytest_ignore_collect", False)]),
        ("def pytest_ignore_collect(path):\n    return None", []),
        ("import pytest\n@pytest.fixture(autouse=True)\ndef f():\n    pytest.skip('x')", [("f", False)]),
        (
            "import pytest\ndef pytest_runtest_setup(item):\n    if item.name == 'test_x':\n        pytest.skip('x')",
            [("pytest_runtest_setup", True)],
        ),
    ],
)
def test_what_a_conftest_leaves_out_is_found(conftest, found):
    names = [
        (function, conditional) for file, function, conditional in sites("def test_x(): pass", conftest=conftest) if file == "conftest.py"
    ]
    assert sorted(set(names)) == found


def test_marks_of_a_sealed_helper_are_followed():
    helper = (
        "import unittest, pytest, sys\nskipIf = unittest.skipIf\nslow = pytest.mark.skip(reason='x')\ndef wrap(f):\n    return slow(f)\n"
    )
    text = "from helper import slow, wrap, skipIf\n@slow\ndef test_x(): pass\n@wrap\ndef test_y(): pass\n@skipIf(sys.platform == 'win32', 'x')\ndef test_z(): pass"
    assert {(function, conditional) for _, function, conditional in sites(text, helper=helper)} == {
        ("test_x", False),
        ("test_y", False),
        ("test_z", True),
    }


@pytest.mark.parametrize(
    ("condition", "speaks"),
    [
        ("sys.platform == 'win32'", True),
        ("sys.version_info < (3, 9)", True),
        ("os.getuid() == 0", True),
        ("shop.FEATURE", False),
        ("sys.platform and shop.X", False),
        ("z is None", True),
        ("not HAS_Z", True),
        ("OLD", True),
        ("len(sys.argv) > 1", True),
    ],
)
def test_a_condition_is_sorted_by_what_it_speaks_of(condition, speaks):
    files = {
        T: "import pytest, sys, os\nfrom src import shop\ntry:\n    import z\n    HAS_Z = True\nexcept ImportError:\n    z = None\n    HAS_Z = False\n"
        f"OLD = sys.version_info < (3, 9)\n@pytest.mark.skipif({condition}, reason='x')\ndef test_x(): pass\n"
    }
    (site,) = scan_skips(MemoryTree(files), (T,), policy=policy())
    assert site.environment is speaks


def test_a_sum_of_two_thousand_terms_is_read():
    text = "def test_y():\n    assert " + " + ".join(["1"] * 2_000) + "\n\n@pytest.mark.skip\ndef test_x(): pass"
    assert sites(text) == [("test_a.py", "test_x", False)]


def test_a_file_that_is_no_python_has_no_sites():
    assert scan_skips(MemoryTree({T: "def ("}), (T,), policy=policy()) == ()
