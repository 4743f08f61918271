"""Split isolation: what sealed tests can do with source that lives in another process, and what that source cannot do to them."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from compat import runs
from trivet import model
from trivet.model import RunRecord
from trivet.scoring.apart import cannot_cross

SOURCE = '''
"""Things to test."""
import asyncio, datetime, importlib.util, logging, os, sys, warnings, enum, time
from time import time as from_time
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

class Broken(ValueError):
    def __init__(self, text, col):
        super().__init__(text)
        self.col = col

@dataclass(frozen=True)
class Money:
    amount: Decimal
    unit: str = "EUR"
    def __add__(self, other):
        return Money(self.amount + other.amount, self.unit)

class Point(NamedTuple):
    x: int
    y: int
    def norm(self):
        return abs(self.x) + abs(self.y)

class Version:
    def __init__(self, text): self.parts = tuple(map(int, text.split(".")))
    def __eq__(self, other): return isinstance(other, Version) and self.parts == other.parts
    def __hash__(self): return hash(self.parts)
    def __lt__(self, other): return self.parts < other.parts

class Color(enum.Enum):
    RED = 1

class Shelf:
    def __init__(self): self.items, self.log = [], {}
    def add(self, item):
        self.items.append(item)
        return self
    def __len__(self): return len(self.items)
    def __iter__(self): return iter(self.items)
    def __enter__(self): return self
    def __exit__(self, *args): self.items.clear()
    def greet(self): return "shelf " + self.name()
    def name(self): return "plain"

class Liar(Decimal):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = Decimal.__hash__

class AlwaysEqual:
    def __eq__(self, other): return True
    def __ne__(self, other): return False

calls = []
def counted():
    calls.append(1)
    return len(calls)
def fail(): raise Broken("no", 5)
def lie(): return Liar("3.14")
def always(): return AlwaysEqual()
def leave(): os._exit(0)
def stop(): sys.exit(3)
def skip():
    import unittest
    raise unittest.SkipTest("nothing to see")
def interrupt(): raise KeyboardInterrupt
def apply(function, *args): return function(*args)
def fill(target):
    target.append(1)
    return target
def shout(text): print(text); print(text + "!", file=sys.stderr)
def note(): logging.getLogger("things").warning("low on %s", "milk")
def old(): warnings.warn("old", DeprecationWarning, stacklevel=2)
def read(path):
    with open(path, encoding="utf-8") as stream: return stream.read()
def steps(n): yield from range(n)
async def later(x):
    await asyncio.sleep(0)
    return x + 1
def setting(): return os.environ.get("THING")
def clock(): return time.time(), from_time(), datetime.datetime.now(datetime.timezone.utc), type(datetime.datetime.now()) is datetime.datetime
def marks():
    frames, frame = [], sys._getframe()
    while frame: frames.append(frame.f_code.co_name); frame = frame.f_back
    return {
        "runner": any(name.partition(".")[0] in ("pytest", "_pytest", "hypothesis", "trivet", "trivet_probe") for name in sys.modules),
        "env": [name for name in os.environ if name.startswith(("PYTEST", "CI", "SOURCE_DATE", "PYTHONHASHSEED"))], "argv": sys.argv,
        "frames": [name for name in frames if name.startswith("test")], "tests": os.path.exists("tests") or os.path.exists("fixtures"),
        "year": time.gmtime().tm_year, "installed": importlib.util.find_spec("pytest") is not None,
    }
def swallow(function):
    try: function()
    except BaseException: return "fine"
def deep():
    value = []
    value.append(value)
    return value
'''

TEST = """
import asyncio, contextlib, copy, datetime, inspect, io, logging, os, pickle, time, warnings
from decimal import Decimal
from pathlib import Path
import pytest
import things
from things import Broken, Color, Money, Point, Shelf, Version

AT_IMPORT = Money(Decimal("1.00"))
CALLS = [things.counted()]

def test_values(): assert Money(Decimal(1)) + Money(Decimal(2)) == Money(Decimal(3)) and AT_IMPORT.amount == 1
def test_values_differ(): assert Money(Decimal(1)) == Money(Decimal(2))
def test_named(): assert Point(3, -4) == (3, -4) and Point(3, -4).norm() == 7 and isinstance(Point(1, 2), tuple)
def test_equality(): assert Version("1.2") == Version("1.2") and Version("1.2") != Version("1.3") and Version("1") < Version("2")
def test_hash(): assert len({Version("1"), Version("1")}) == 1
def test_enum(): assert Color(1) is Color.RED and Color.RED.value == 1
def test_exceptions():
    with pytest.raises(Broken, match="no") as caught: things.fail()
    assert caught.value.col == 5 and isinstance(caught.value, ValueError)
    try: things.fail()
    except ValueError as error: assert str(error) == "no"
def test_wrong_exception():
    with pytest.raises(KeyError): things.fail()
def test_exit_code():
    with pytest.raises(SystemExit) as caught: things.stop()
    assert caught.value.code == 3
def test_callbacks(): assert things.apply(lambda a, b: a + b, 1, 2) == 3 and things.apply(sorted, [2, 1]) == [1, 2]
def test_callback_raises():
    with pytest.raises(LookupError) as caught: things.apply({}.__getitem__, 1)
def test_arguments_are_changed_in_place():
    mine = [0]
    assert things.fill(mine) is mine and mine == [0, 1]
def test_containers_of_objects():
    shelf = Shelf().add("a")
    shelf.items.append("b")
    shelf.log["x"] = 1
    assert list(shelf) == ["a", "b"] and len(shelf) == 2 and shelf.log == {"x": 1}
    with shelf: pass
    assert not shelf.items
def test_subclass():
    class Mine(Shelf):
        def name(self): return "mine of " + super().name()
    assert Mine().greet() == "shelf mine of plain" and isinstance(Mine(), Shelf)
def test_output(capsys):
    things.shout("hey")
    assert tuple(capsys.readouterr()) == ("hey\\n", "hey!\\n")
def test_redirected():
    out = io.StringIO()
    with contextlib.redirect_stdout(out): things.shout("hey")
    assert out.getvalue() == "hey\\n"
def test_logging(caplog):
    things.note()
    assert caplog.messages == ["low on milk"]
def test_warnings():
    with pytest.warns(DeprecationWarning, match="old"): things.old()
def test_fixture_file(): assert things.read("fixtures/sealed/a.txt") == "sealed" == things.read(Path(__file__).parents[2] / "fixtures/sealed/a.txt")
def test_iteration(): assert list(things.steps(3)) == [0, 1, 2]
def test_async(): assert asyncio.run(things.later(1)) == 2
def test_monkeypatch(monkeypatch):
    monkeypatch.setenv("THING", "x")
    monkeypatch.setattr(things, "counted", lambda: 99)
    assert things.setting() == "x" and things.counted() == 99
    monkeypatch.setattr(Shelf, "name", lambda self: "patched")
    assert Shelf().greet() == "shelf patched"
def test_clock(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1e9)
    monkeypatch.setattr(time, "time_ns", lambda: 10**18)
    assert things.clock() == (1e9, 1e9, datetime.datetime(2001, 9, 9, 1, 46, 40, tzinfo=datetime.timezone.utc), True)
    monkeypatch.undo()
    assert things.clock()[0] > 1.5e9 and things.clock()[2].year > 2020
def test_undone(): assert things.setting() is None and things.counted() == 2 and Shelf().greet() == "shelf plain"
def test_inspection():
    assert list(inspect.signature(things.apply).parameters) == ["function", "args"] and things.__doc__ == "Things to test."
    assert copy.copy(Version("1")) == Version("1") == pickle.loads(pickle.dumps(Version("1")))
def test_fresh_a(): assert things.counted() == 2
def test_fresh_b(): assert things.counted() == 2
def test_marks():
    found = things.marks()
    assert found == {"runner": False, "env": [], "argv": [""], "frames": [], "tests": False, "year": found["year"], "installed": False} and found["year"] != 1999
def test_lie(): assert things.lie() == Decimal("2.71")
def test_always(): assert things.always() == 5
def test_always_remote(): assert things.always() == Version("1")
def test_leave():
    things.leave()
def test_after_leave(): assert things.counted() == 2
def test_skip():
    things.skip()
def test_interrupt():
    things.interrupt()
def test_swallowed():
    def check(): assert 1 == 2
    assert things.swallow(check) == "fine"
def test_frames(): things.apply(inspect.currentframe().f_back.f_back, 1)
def test_runner_object(request): things.apply(len, request)
def test_deep(): assert things.deep()
def test_hidden_frames():
    def mine(): yield 1
    with pytest.raises(AttributeError): things.apply(getattr, mine(), "gi_frame")
"""

RED = {
    "test_values_differ": "AssertionError",
    "test_wrong_exception": "Broken",
    "test_lie": "AssertionError",
    "test_always": "AssertionError",
    "test_always_remote": "AssertionError",
    "test_leave": "SubjectGone",
    "test_skip": "SubjectDecided",
    "test_interrupt": "SubjectDecided",
    "test_swallowed": "AssertionError",
    "test_frames": "SplitUnsupported",
    "test_runner_object": "SplitUnsupported",
    "test_deep": "SplitUnsupported",
}
"""Tests that must fail, and with what."""


def split(folder: Path, source: str, test: str, **policy: object) -> RunRecord:
    """Run one sealed file against one source module, split."""
    root = folder / "tree"
    for name in ("src", "tests/sealed", "fixtures/sealed"):
        (root / name).mkdir(parents=True)
    (root / "src/things.py").write_text(source)
    (root / "tests/sealed/test_things.py").write_text(test)
    (root / "fixtures/sealed/a.txt").write_text("sealed")
    runner = runs.runner(root, Path(sys.executable), folder / "scratch", **policy)
    runner.stand = dataclasses.replace(runner.stand, visible=("src/things.py",))
    return runner.run(runner.job(["tests/sealed/test_things.py"], isolation="split"))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, model.TestResult]:
    """The results of the whole file, by test name."""
    record = split(tmp_path_factory.mktemp("split"), SOURCE, TEST)
    assert record.end.how == "closed", record
    assert record.isolation == "split"
    return {result.id.partition("::")[2]: result for result in record.results}


NAMES = [line.partition("def ")[2].partition("(")[0] for line in TEST.splitlines() if line.startswith("def test_")]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in RED])
def test_honest_tests_pass_through_the_split(seen: dict[str, model.TestResult], name: str) -> None:
    """What honest tests do with the source works as in one process."""
    assert seen[name].outcome == "passed", seen[name].failure


@pytest.mark.parametrize("name", RED)
def test_lies_and_decisions_of_the_source_fail(seen: dict[str, model.TestResult], name: str) -> None:
    """A lying object, an exit, a skip and what cannot cross fail the test, each with its own word."""
    failure = seen[name].failure
    assert seen[name].outcome == "failed"
    assert failure is not None
    assert failure.type.rpartition(".")[2] == RED[name], failure


def test_what_cannot_cross_is_named(seen: dict[str, model.TestResult]) -> None:
    """The message names the construct."""
    failure = seen["test_frames"].failure
    assert failure is not None
    assert failure.message == "cannot cross into the source's process: a frame"


def test_source_that_never_answers_is_ended(tmp_path: Path) -> None:
    """A call that does not come back fails its test within the test's time, and the next test runs."""
    source = "import time\ndef hang():\n    while True: time.sleep(1)\ndef fine(): return 1\n"
    test = "import things\ndef test_hang(): things.hang()\ndef test_next(): assert things.fine() == 1\n"
    record = split(tmp_path, source, test, test_timeout_s=2.0)
    failures = {result.id.partition("::")[2]: result.failure for result in record.results}
    assert record.end.how in ("closed", "timeout")
    if record.end.how == "closed":
        assert failures["test_next"] is None
    hung = failures["test_hang"]
    assert hung is not None


def test_import_that_ends_the_program_is_a_collection_error(tmp_path: Path) -> None:
    """Source that exits while it is imported cannot end the run."""
    record = split(tmp_path, "import sys\nsys.exit(0)\n", "import things\ndef test_x(): pass\n")
    assert record.end.how == "closed"
    assert [file for file, _ in record.errors] == ["tests/sealed/test_things.py"]


def test_source_cannot_be_reached_by_another_way(tmp_path: Path) -> None:
    """Loading a source file by its path does not run it in the judge's process."""
    test = (
        "import importlib.util, pathlib, pytest\n"
        "def test_path():\n"
        "    path = pathlib.Path(__file__).parents[2] / 'src/things.py'\n"
        "    spec = importlib.util.spec_from_file_location('other', path)\n"
        "    spec.loader.exec_module(importlib.util.module_from_spec(spec))\n"
    )
    record = split(tmp_path, "X = 1\n", test)
    assert record.results[0].failure is not None
    assert record.results[0].failure.type.rpartition(".")[2] == "SplitUnsupported"


def test_source_cannot_ask_for_shared_isolation_by_the_name_of_our_refusal(tmp_path: Path) -> None:
    """An exception of the source that is called as the judge's refusal is an ordinary failure."""
    source = "class SplitUnsupported(Exception): pass\ndef f(): raise SplitUnsupported('cannot cross')\n"
    record = split(tmp_path, source, "import things\ndef test_f(): assert things.f() == 1\n")
    assert record.results[0].failure is not None
    assert cannot_cross(record) == frozenset()
