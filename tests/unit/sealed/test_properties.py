"""What can be said against a sealed property without running it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from trivet.model import Entry, OraclePolicy, Policy, ZonePolicy
from trivet.sealed.properties import Property, read_properties
from trivet.zones import Zones

POLICY = Policy(
    preset="verdicts",
    source="",
    digest="",
    zones=ZonePolicy(source=("src/**",), oracle=("tests/sealed/**",), proposed=(), inert=()),
    oracle=OraclePolicy(manifest=None, digests=(), leases=None),
)
TEST = "tests/sealed/test_it.py"
HEAD = """
import json, datetime, time, random, uuid, socket, subprocess, sys, unittest
from pathlib import Path
import pytest
from shop import price, Cart
from tests.sealed.helpers import load, check_total, PLAIN
FIXTURES = Path("fixtures/sealed")
EXPECTED = {"a": 1}

@pytest.fixture
def cart():
    return Cart()

@pytest.fixture(name="named")
def _named():
    return price(1)

@pytest.fixture
def data():
    return {"ok": True}
"""
HELPERS = """
import json
from pathlib import Path
from shop import price
PLAIN = {"ok": True}
def load(): return json.loads((Path("fixtures") / "a.json").read_text())
def check_total(value): assert value == price(2)
"""

GOOD = {
    "plain": "def test_it():\n    assert price(2) == 4",
    "fixture": "def test_it(cart):\n    assert cart.total == 0",
    "named fixture": "def test_it(named):\n    assert named == 1",
    "expected values from a sealed file": "def test_it():\n    want = load()\n    assert price(2) == want['two']",
    "raises": "def test_it():\n    with pytest.raises(ValueError):\n        price(-1)",
    "helper asserts": "def test_it():\n    check_total(price(2))",
    "loop": "def test_it():\n    for n in range(3):\n        got = price(n)\n        assert got >= n",
    "parametrized": "@pytest.mark.parametrize('n,want', [(1, 2), (2, 4)])\ndef test_it(n, want):\n    assert price(n) == want",
    "mutated argument": "def test_it():\n    items = []\n    Cart().fill(items)\n    assert items == [1]",
    "captured output": "def test_it(capsys):\n    price(1)\n    assert capsys.readouterr().out == ''",
    "written file": "def test_it(tmp_path):\n    Cart().save(tmp_path / 'x')\n    assert (tmp_path / 'x').read_text() == '1'",
    "command line": "def test_it():\n    out = subprocess.run([sys.executable, '-m', 'shop'], capture_output=True)\n    assert out.returncode == 0",
    "unittest": "class CartTest(unittest.TestCase):\n    def setUp(self):\n        self.cart = Cart()\n    def test_it(self):\n        self.assertEqual(self.cart.total, 0)",
    "class": "class TestIt:\n    def test_it(self, cart):\n        assert cart.total == 0",
    "own method asserts": "class TestIt:\n    def same(self, a, b):\n        assert a == b\n    def test_it(self):\n        self.same(price(1), 2)",
    "callback": "def test_it():\n    seen = []\n    def hook(x):\n        seen.append(x)\n    Cart().on(hook)\n    assert seen == [1]",
    "repeats": "def test_it():\n    assert price(2) == price(2)",
    "seeded chance": "def test_it():\n    dice = random.Random(3)\n    assert price(dice.random()) >= 0",
    "given instant": "def test_it():\n    assert price(2, now=datetime.datetime(2026, 1, 1)) == 4",
    "raise by hand": "def test_it():\n    if price(2) != 4:\n        raise AssertionError('off')",
    "local import": "def test_it():\n    from shop.deep import thing\n    got = thing()\n    assert got == 3",
    "one idle beside one telling": "def test_it():\n    assert 1 == 1\n    assert price(2) == 4",
    "unknown plugin fixture": "def test_it(mystery):\n    assert mystery.run() == 0",
    "async": "async def test_it():\n    assert await price(2) == 4",
}
BAD = {
    "nothing": ("def test_it():\n    pass", "TRV120"),
    "call only": ("def test_it():\n    price(2)", "TRV120"),
    "print": ("def test_it():\n    print(price(2))", "TRV120"),
    "swallowed": ("def test_it():\n    try:\n        price(2)\n    except Exception:\n        pass", "TRV120"),
    "true": ("def test_it():\n    price(2)\n    assert True", "TRV121"),
    "one": ("def test_it():\n    price(2)\n    assert 1", "TRV121"),
    "tuple": ("def test_it():\n    assert (price(2) == 5, 'message')", "TRV121"),
    "or true": ("def test_it():\n    assert price(2) == 5 or True", "TRV121"),
    "itself": ("def test_it():\n    got = price(2)\n    assert got == got", "TRV121"),
    "is itself": ("def test_it():\n    got = price(2)\n    assert got is got", "TRV121"),
    "own attribute": ("def test_it(cart):\n    assert cart.total == cart.total", "TRV121"),
    "length": ("def test_it(cart):\n    assert len(cart.items) >= 0", "TRV121"),
    "object": ("def test_it():\n    assert isinstance(price(2), object)", "TRV121"),
    "constants": ("def test_it():\n    price(2)\n    assert 2 + 0 == 2 or 1 == 1", "TRV121"),
    "equal constants": ("def test_it():\n    price(2)\n    assert [1, 2] == [1, 2]", "TRV121"),
    "not false": ("def test_it():\n    price(2)\n    assert not False", "TRV121"),
    "not empty": ("def test_it():\n    price(2)\n    assert not []", "TRV121"),
    "walrus": ("def test_it():\n    price(2)\n    assert (x := 1)", "TRV121"),
    "f-string": ("def test_it():\n    assert f'{price(2)} is right'", "TRV121"),
    "local literal": ("def test_it():\n    price(2)\n    data = {'ok': True}\n    assert data['ok']", "TRV121"),
    "fixture literal": ("def test_it(data):\n    price(2)\n    assert data['ok']", "TRV121"),
    "module literal": ("def test_it():\n    price(2)\n    assert EXPECTED['a'] == 1", "TRV121"),
    "helper literal": ("def test_it():\n    price(2)\n    assert PLAIN['ok'] is True", "TRV121"),
    "sealed file against constant": ("def test_it():\n    price(2)\n    assert json.loads((FIXTURES / 'a.json').read_text()) == {'ok': True}", "TRV121"),
    "parameter against itself": ("@pytest.mark.parametrize('n', [1, 2])\ndef test_it(n):\n    price(2)\n    assert n > 0", "TRV121"),
    "raises without production": ("def test_it():\n    price(2)\n    with pytest.raises(ZeroDivisionError):\n        1 / 0", "TRV121"),
    "no production": ("def test_it():\n    assert sum([1, 2]) == 3", "TRV122"),
    "no production in class": ("class TestIt:\n    def test_it(self):\n        assert max(1, 2) == 2", "TRV122"),
    "network": ("def test_it():\n    s = socket.create_connection(('h', 1))\n    assert price(s) == 1", "TRV124"),
    "sleep": ("def test_it():\n    time.sleep(1)\n    assert price(2) == 4", "TRV124"),
    "clock": ("def test_it():\n    assert price(time.time()) == 4", "TRV124"),
    "today": ("def test_it():\n    assert price(datetime.date.today()) == 4", "TRV124"),
    "now": ("def test_it():\n    assert price(datetime.datetime.now()) == 4", "TRV124"),
    "local network import": ("def test_it():\n    import urllib.request as u\n    assert price(u.urlopen('http://x')) == 4", "TRV124"),
    "uuid": ("def test_it():\n    assert price(uuid.uuid4()) == 4", "TRV123"),
    "chance": ("def test_it():\n    assert price(random.random()) == 4", "TRV123"),
    "only in a nested idle loop": ("def test_it():\n    price(2)\n    for n in [1, 2]:\n        assert n", "TRV121"),
    "unittest true": ("class CartTest(unittest.TestCase):\n    def test_it(self):\n        self.assertTrue(True)", "TRV122"),
    "keeps its own books": ("def test_it():\n    price(2)\n    total = 0\n    for n in (1, 2):\n        total += n\n    assert total == 3", "TRV121"),
    "same text": ("def test_it():\n    price(2)\n    name = 'price'\n    assert name.upper() == 'PRICE'", "TRV121"),
}


@dataclass(frozen=True)
class _Folder:
    files: dict[bytes, bytes]
    label: str = "head"

    def entries(self, under: tuple[bytes, ...] = ()) -> tuple[Entry, ...]:
        return tuple(Entry(path=path, mode=0o100644, oid="0" * 40) for path in self.files)

    def read(self, path: bytes) -> bytes | None:
        return self.files.get(path)


def only(text: str, helpers: str = HELPERS) -> Property:
    """The one property of a file."""
    files = {
        TEST.encode(): (HEAD + text + "\n").encode(),
        b"tests/sealed/helpers.py": helpers.encode(),
        b"src/shop/__init__.py": b"",
        b"src/shop/deep.py": b"",
    }
    (found,) = read_properties(_Folder(files), (TEST,), POLICY, Zones(POLICY.zones))
    return found


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD.keys())
def test_a_property_about_production_code_has_no_fault(text: str) -> None:
    """Twenty and more ways of saying something that code can break."""
    assert only(text).faults == ()


@pytest.mark.parametrize(("text", "rule"), BAD.values(), ids=BAD.keys())
def test_a_property_that_decides_nothing_is_told(text: str, rule: str) -> None:
    """Forty ways of saying nothing, or something else each time."""
    assert rule in {fault.rule for fault in only(text).faults}


def test_the_digest_covers_helpers_and_fixtures_but_not_neighbours() -> None:
    """A change of what a test reaches is a change of the test."""
    text = "def test_it(cart):\n    check_total(cart.total)"
    same = only(text + "\n\ndef other():\n    return 1")
    changed = only(text, HELPERS.replace("price(2)", "price(3)"))
    assert only(text).digest == same.digest != changed.digest
