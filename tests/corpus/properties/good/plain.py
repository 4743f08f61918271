"""Properties that can refuse, each in a way of its own."""

import asyncio
import datetime
import random
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
import shop
from helpers_of_good import TABLE, check_double, once, prices
from shop import Cart, Kind, Line, Point, PriceError, price, slug

ROWS = [(name, shop.RATES[name]) for name in ("book", "food")]


@pytest.fixture
def cart():
    return Cart().add("book", 2)


@pytest.fixture(scope="module")
def listed():
    return [price(n) for n in range(5)]


def test_call():
    assert price(2) == 4


def test_fixture(cart):
    assert cart.total == 4


def test_shared_fixture_first(listed):
    assert listed[1] == 2


def test_shared_fixture_second(listed):
    assert listed[4] == 8


@pytest.mark.parametrize(("n", "want"), [(0, 0), (1, 2), (7, 14)])
def test_parameters(n, want):
    assert price(n) == want


@pytest.mark.parametrize(("name", "rate"), ROWS)
def test_parameters_of_production(name, rate):
    assert rate == {"book": 5, "food": 7}[name]


def test_raises():
    with pytest.raises(PriceError):
        price(-1)


def test_raises_with_words():
    with pytest.raises(PriceError, match="-3"):
        price(-3)


def test_helper_asserts():
    check_double(6)


def test_constant():
    assert shop.RATES["wine"] == 20


def test_version():
    assert shop.VERSION == "1.2"


def test_table_of_a_module():
    assert TABLE[3] == 6


def test_cached_first():
    assert once()[2] == 4


def test_cached_second():
    assert once()[1] == 2


def test_data_class():
    assert Line("a") == Line("a", 1)


def test_named_tuple():
    assert Point(1, 2).y == 2


def test_enumeration():
    assert Kind("food") is Kind.FOOD


def test_sealed_data():
    for n, want in prices().items():
        assert price(int(n)) == want


def test_command_line():
    env = {"PYTHONPATH": str(Path(shop.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-m", "shop", "4"], capture_output=True, text=True, env=env)
    assert done.stdout == "price: 8\n"


def test_file(tmp_path):
    Cart().add("x").save(tmp_path / "cart.json")
    assert (tmp_path / "cart.json").read_text() == '[["x", 1]]'


def test_output(capsys):
    shop.show(3)
    assert capsys.readouterr().out == "price: 6\n"


def test_log(caplog):
    shop.log("low")
    assert caplog.messages == ["low"]


def test_warning():
    with pytest.warns(UserWarning, match="old"):
        shop.warn("old")


def test_callback():
    seen = []
    shop.each([1, 2], seen.append)
    assert seen == [1, 2]


def test_hook():
    seen = []
    cart = Cart()
    cart.on(seen.append)
    cart.add("tea")
    assert seen == ["tea"]


def test_mock_as_collaborator():
    hook = mock.Mock()
    shop.each([5], hook)
    assert hook.call_args_list == [mock.call(5)]


def test_coroutine():
    assert asyncio.run(shop.fetch(4)) == 8


def test_generator():
    assert list(shop.countdown(3)) == [3, 2, 1]


def test_thread():
    found = []
    shop.later(2, found)
    assert found == [4]


def test_environment(monkeypatch):
    monkeypatch.setenv("SHOP_CURRENCY", "CHF")
    assert shop.currency() == "CHF"


def test_given_moment():
    assert shop.due(datetime.datetime(2026, 1, 1)) == datetime.datetime(2026, 1, 15)


def test_seeded_chance():
    dice = random.Random(7)
    n = dice.randrange(100)
    assert price(n) == n * 2


def test_order_does_not_matter():
    assert sorted(shop.tags("b a b")) == ["a", "b"]


def test_near():
    assert shop.share(1, 3) == pytest.approx(0.3333, abs=1e-3)


def test_repeats():
    assert price(5) == price(5)


def test_leaves_its_argument_alone():
    words = ["a"]
    shop.each(words, len)
    assert words == ["a"]


def test_by_hand():
    if slug("A b") != "a-b":
        raise AssertionError("not a slug")


class TestCart:
    def setup_method(self):
        self.cart = Cart().add("a", 3)

    def test_total(self):
        assert self.cart.total == 6

    def test_items(self):
        assert self.cart.items == [("a", 3)]
