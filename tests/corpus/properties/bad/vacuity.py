"""Properties that cannot fail, or that execute no production code, however much they speak of it."""

import contextlib
from unittest import mock

import pytest
import shop
from shop import price


def test_nothing():  # TRV120
    pass


def test_call_only():  # TRV120
    price(2)


def test_print():  # TRV120
    print(price(2))


def test_swallows():  # TRV120
    try:
        assert price(2) == 5
    except AssertionError:
        pass


def test_suppresses():  # TRV120
    with contextlib.suppress(AssertionError):
        assert price(2) == 5


def test_broad_except():  # TRV120
    try:
        got = price(2)
        assert got == 5
    except Exception:
        got = 5


def test_returns_early():  # TRV120
    if price(2) == 4:
        return
    assert price(2) == 4


def test_empty_loop():  # TRV120
    for n in [part for part in range(3) if price(part) > 100]:
        assert price(n) == 0


def test_inner_that_nobody_calls():  # TRV122
    def inner():
        assert price(2) == 5

    assert inner is not None


def test_no_production():  # TRV122
    assert sum([1, 2]) == 3


def test_replaced(monkeypatch):  # TRV122
    monkeypatch.setattr(shop, "price", lambda n: 4)
    assert shop.price(2) == 4


def test_patched():  # TRV122
    with mock.patch("shop.price", return_value=4):
        assert shop.price(2) == 4


def test_only_its_name():  # TRV122
    name = "shop.price"
    assert name.upper() == "SHOP.PRICE"


def test_behind_false():  # TRV122
    got = price(2) if False else 4
    assert got == 4


def test_own_exception():  # TRV122
    with pytest.raises(shop.PriceError):
        raise shop.PriceError("x")


def test_short_circuit():  # TRV122
    flag = []
    assert (flag and price(2)) == []


class TestNothing:
    def test_setup_alone(self):  # TRV122
        assert max(1, 2) == 2
