"""Tamper signs, seen by the real probe in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trivet.probe import wire

PROBE = Path(wire.__file__).parent
TEST = """\
import json
import math
import unittest

import pytest

from thing import value

EXPECTED = 3


@pytest.fixture
def three():
    return EXPECTED


def test_value(three):
    assert value() == three


def test_close():
    assert math.isclose(value(), 3.0)
    assert json.loads("3") == 3


class Old(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(value(), 3)
"""


def signs(tmp_path: Path, source: str, test: str = TEST, more: str = "", **fields) -> list[tuple[str, str, bool]]:
    """Run one sealed test file over one source module; returns (kind, detail, blocking) of each sign."""
    root = tmp_path / "tree"
    (root / "src").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "src/thing.py").write_text(source)
    (root / "tests/test_thing.py").write_text(test)
    if more:
        (root / "tests/conftest.py").write_text(more)
    job = wire.Job(
        root=str(root), files=["tests/test_thing.py"], paths=[str(root / "src")], nonce="n", source_roots=[str(root / "src")], source_names=["thing"],
        scratch=str(tmp_path), **fields,
    )  # fmt: skip
    job_file, out = tmp_path / "job", tmp_path / "out"
    job_file.write_bytes(wire.dump_job(job))
    with job_file.open("rb") as given, out.open("wb") as taken:
        done = subprocess.run(
            [sys.executable, "-s", str(PROBE / "__main__.py"), str(given.fileno()), str(taken.fileno())],
            pass_fds=(given.fileno(), taken.fileno()), cwd=root, env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True, timeout=60, check=False,
        )  # fmt: skip
    records = [json.loads(line) for line in out.read_bytes().splitlines()]
    assert records, done.stderr
    assert records[-1]["k"] == "end", done.stdout
    return [(record["kind"], record["detail"], record["blocking"]) for record in records if record["k"] == "sign"]


HONEST = {
    "plain": "def value():\n    return 3\n",
    "reads its caller's name for a log line": "import sys\ndef value():\n    return len(sys._getframe(1).f_code.co_name) * 0 + 3\n",
    "walks objects": "import gc\ndef value():\n    gc.get_objects()\n    return 3\n",
    "patches its own class": "class A:\n    pass\nA.get = lambda self: 3\ndef value():\n    return A().get()\n",
    "profiles a block": "import sys\ndef value():\n    sys.setprofile(lambda *a: None)\n    sys.setprofile(None)\n    return 3\n",
    "keeps an old name alive": "import sys, types\nsys.modules['thing_old'] = sys.modules[__name__]\ndef value():\n    return 3\n",
    "adds a finder": "import sys\nclass F:\n    find_spec = lambda *a: None\nsys.meta_path.append(F())\ndef value():\n    return 3\n",
    "offers fixtures": "import pytest\n@pytest.fixture\ndef spare():\n    return 1\ndef value():\n    return 3\n",
    "patches for a moment": "import json\ndef value():\n    old, json.dumps = json.dumps, str\n    json.dumps = old\n    return 3\n",
    "installs hooks": "import sys, warnings\nsys.displayhook = sys.excepthook = lambda *a: None\nwarnings.formatwarning = lambda *a, **k: 'w'\ndef value():\n    return 3\n",
    "loads ctypes": "import ctypes\ndef value():\n    return ctypes.c_int(3).value\n",
    "subclasses a runner's class": "import unittest\nclass Case(unittest.TestCase):\n    def assertEqual(self, *a):\n        pass\ndef value():\n    return 3\n",
}


@pytest.mark.parametrize("source", HONEST.values(), ids=HONEST)
def test_honest_production_code_makes_no_blocking_sign(tmp_path, source):
    assert [sign for sign in signs(tmp_path, source) if sign[2]] == []


PLUGIN = """
import gc
class P:
    def pytest_sessionfinish(self):
        pass
for m in gc.get_objects():
    if type(m).__name__ == "PytestPluginManager":
        m.register(P())
        break
"""

LYING = {
    "a function of the standard library": ("import math\nmath.isclose = lambda *a, **k: True\n", "math.isclose"),
    "a builtin": ("import builtins\nbuiltins.sum = lambda *a: 3\n", "builtins.sum"),
    "a class of the standard library": ("import random\nclass R(random.Random):\n    def random(self):\n        return 0\nrandom.Random = R\n", "random.Random"),
    "an assertion method": ("import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n", "TestCase.assertEqual"),
    "the failure of unittest": ("import unittest\nunittest.TestCase.failureException = unittest.SkipTest\n", "failureException"),
    "a partial of the real thing": ("import functools, math\nmath.isclose = functools.partial(math.isclose, rel_tol=9)\n", "math.isclose"),
    "a mock": ("import unittest.mock, json\njson.loads = unittest.mock.Mock(return_value=3)\n", "json.loads"),
    "the runner's call": (
        "import sys\nr = sys.modules['_pytest.runner']\nplain = r.CallInfo.from_call\nr.CallInfo.from_call = classmethod(lambda c, *a, **k: plain(*a, **k))\n",
        "from_call",
    ),
    "code of a runner's function": (
        "import sys\nr = sys.modules['_pytest.runner']\ndef fake(item, nextitem):\n    return True\nr.runtestprotocol.__code__ = fake.__code__\n",
        "runtestprotocol",
    ),
    "defaults of a function": ("import json\njson.loads.__kwdefaults__ = {**json.loads.__kwdefaults__, 'parse_int': float}\n", "json.loads"),
    "a property on a runner's class": (
        "import sys\nsys.modules['_pytest.main'].Session.testsfailed = property(lambda s: 0, lambda s, v: None)\n", "testsfailed"
    ),
    "a module": (
        "import sys, types\nfake = types.ModuleType('math')\nfake.isclose = lambda *a: True\nfake.__file__ = __file__\nsys.modules['math'] = fake\n",
        "module math",
    ),
    "a plugin": (PLUGIN, "plugin"),
}  # fmt: skip


@pytest.mark.parametrize(("source", "named"), LYING.values(), ids=LYING)
def test_what_production_code_replaces_and_leaves_so_is_named(tmp_path, source, named):
    found = [detail for _, detail, blocking in signs(tmp_path, source + "\ndef value():\n    return 3\n") if blocking]
    assert any(named in detail for detail in found), found


INSIDE = {
    "a test's constants": "c = m.test_close.__code__\n    m.test_close.__code__ = c.replace(co_consts=tuple(9.0 if x == 3.0 else x for x in c.co_consts))",
    "a test": "m.test_value = lambda: None",
    "a fixture's global": "m.EXPECTED = value",
    "an imported name": "m.json = type('json', (), {'loads': staticmethod(lambda t: 3)})",
    "a trace function": "sys.settrace(lambda *a: None)",
    "a profile function": "sys.setprofile(lambda *a: None)",
}


@pytest.mark.parametrize("change", INSIDE.values(), ids=INSIDE)
def test_what_production_code_changes_in_the_tests_while_they_run_is_named(tmp_path, change):
    source = f"import sys\ndef value():\n    m = sys.modules['test_thing']\n    {change}\n    return 3\n"
    assert [detail for _, detail, blocking in signs(tmp_path, source) if blocking]


def test_a_patch_that_is_taken_back_before_the_end_is_seen_between_tests(tmp_path):
    source = (
        "import math\nplain, calls = math.isclose, []\ndef value():\n    calls.append(1)\n"
        "    math.isclose = plain if len(calls) == 3 else (lambda *a, **k: True)\n    return 3\n"
    )
    assert any("math.isclose" in detail for _, detail, blocking in signs(tmp_path, source) if blocking)


def test_code_of_a_test_that_is_swapped_and_put_back_is_seen(tmp_path):
    source = (
        "import sys\ndef value():\n    f = sys.modules['test_thing'].test_close\n    old = f.__code__\n"
        "    f.__code__ = (lambda: None).__code__\n    f.__code__ = old\n    return 3\n"
    )
    assert [kind for kind, _, blocking in signs(tmp_path, source) if blocking] == ["code"]


def test_production_code_that_reads_the_text_of_a_sealed_test_is_named(tmp_path):
    source = "from pathlib import Path\ndef value():\n    Path(__file__).parents[1].joinpath('tests/test_thing.py').read_text()\n    return 3\n"
    assert [(kind, blocking) for kind, _, blocking in signs(tmp_path, source)] == [("oracle", True)]


def test_production_code_may_read_a_sealed_test_that_hands_it_its_own_file(tmp_path):
    test = "from thing import value\n\ndef test_reads():\n    assert value(__file__) == 3\n"
    assert [sign for sign in signs(tmp_path, "def value(name):\n    open(name).close()\n    return 3\n", test) if sign[2]] == []


def test_a_line_read_for_a_traceback_is_evidence_and_does_not_block(tmp_path):
    source = "import traceback\ndef value():\n    traceback.format_stack()\n    return 3\n"
    assert [sign for sign in signs(tmp_path, source) if sign[2]] == []


def test_what_the_sealed_tests_replace_themselves_does_not_block(tmp_path):
    conftest = "import json, time\njson.dumps = lambda value: 'fake'\n"
    test = TEST + "\n\ndef test_patch(monkeypatch):\n    import json\n    monkeypatch.setattr(json, 'loads', lambda t: 7)\n    assert json.loads('3') == 7\n"
    assert [sign for sign in signs(tmp_path, "def value():\n    return 3\n", test, conftest) if sign[2]] == []


def test_hypothesis_and_decorated_tests_are_what_their_source_says(tmp_path):
    test = (
        "import functools\nimport pytest\nfrom hypothesis import given, settings, strategies as st\nfrom thing import value\n\n"
        "def twice(f):\n    @functools.wraps(f)\n    def run(*a, **k):\n        f(*a, **k)\n        return f(*a, **k)\n    return run\n\n"
        "@settings(max_examples=5, database=None)\n@given(st.integers())\ndef test_given(n):\n    assert value() == 3\n\n"
        "@twice\ndef test_twice():\n    assert value() == 3\n\n"
        "class TestIt:\n    @staticmethod\n    def helper():\n        return 3\n    @pytest.mark.parametrize('n', [1, 2])\n    def test_n(self, n):\n"
        "        assert value() == self.helper()\n"
    )
    assert signs(tmp_path, "def value():\n    return 3\n", test) == []


def test_an_altered_test_in_a_control_run_is_no_sign_and_is_told_of(tmp_path):
    line = next(number for number, text in enumerate(TEST.splitlines(), 1) if "value() == three" in text)
    control = {"id": "tests/test_thing.py::test_value", "kind": "slight", "line": line}
    assert signs(tmp_path, "def value():\n    return 3\n", mode="control", controls=[control], ids=[control["id"]]) == []
    records = [json.loads(text) for text in (tmp_path / "out").read_bytes().splitlines()]
    (told,) = [record for record in records if record["k"] == "control"]
    assert (told["state"], told["line"], told["altered"]) == ("reached", line, "expected value 3 replaced by 4")
    (failed,) = [record["fail"] for record in records if record["k"] == "phase" and record["out"] == "failed"]
    assert (failed["file"], failed["line"]) == ("tests/test_thing.py", line)


PARAMETRISED = """\
import pytest
from thing import value

@pytest.mark.parametrize(("raw", "expected"), [(1, 3), (2, 3)])
def test_value(raw, expected):
    assert value() == expected
"""


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("def value():\n    return 3\n", "failed"),
        ("import sys\ndef value():\n    return sys._getframe(1).f_locals['expected']\n", "passed"),
    ],
    ids=["honest", "steals"],
)
def test_an_altered_parameter_tells_code_that_steals_the_answer_from_code_that_knows_it(tmp_path, source, outcome):
    control = {"id": "tests/test_thing.py::test_value[1-3]", "kind": "given=expected", "line": 6}
    signs(tmp_path, source, PARAMETRISED, mode="control", controls=[control], ids=[control["id"]])
    records = [json.loads(text) for text in (tmp_path / "out").read_bytes().splitlines()]
    assert [(record["id"], record["out"]) for record in records if record["k"] == "phase" and record["when"] == "call"] == [(control["id"], outcome)]
