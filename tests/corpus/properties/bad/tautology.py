"""Properties that hold whatever production code does. The rule that must be found stands behind each."""

import unittest

import pytest
from shop import Cart, price, slug

EXPECTED = {"ok": True}


@pytest.fixture
def data():
    return {"ok": True}


def test_true():  # TRV121
    price(2)
    assert True


def test_one():  # TRV121
    price(2)
    assert 1


def test_tuple():  # TRV121
    assert (price(2) == 5, "message")


def test_or_true():  # TRV121
    assert price(2) == 5 or True


def test_itself():  # TRV121
    got = price(2)
    assert got == got


def test_is_itself():  # TRV121
    got = price(2)
    assert got is got


def test_own_attribute():  # TRV121
    cart = Cart()
    assert cart.total == cart.total


def test_length():  # TRV121
    assert len(Cart().items) >= 0


def test_object():  # TRV121
    assert isinstance(price(2), object)


def test_equal_constants():  # TRV121
    price(2)
    assert [1, 2] == [1, 2]


def test_not_false():  # TRV121
    price(2)
    assert not False


def test_walrus():  # TRV121
    price(2)
    assert (x := 1)


def test_text():  # TRV121
    assert f"{price(2)} is right"


def test_fixture(data):  # TRV121
    price(2)
    assert data["ok"]


def test_module_literal():  # TRV121
    price(2)
    assert EXPECTED == {"ok": True}


def test_local_literal():  # TRV121
    price(2)
    row = {"a": 1}
    assert row["a"] == 1


@pytest.mark.parametrize("n", [1, 2])
def test_parameter(n):  # TRV121
    price(n)
    assert n > 0


def test_raises_by_itself():  # TRV121
    price(2)
    with pytest.raises(ZeroDivisionError):
        1 / 0


def test_or_not():  # TRV121
    got = price(2)
    assert got or not got


def test_equal_or_unequal():  # TRV121
    got = price(2)
    assert got == 5 or got != 5


def test_among_itself():  # TRV121
    got = price(2)
    assert got in [got, 5]


def test_true_or_false():  # TRV121
    assert (price(2) == 5) in (True, False)


def test_bool_is_bool():  # TRV121
    assert bool(price(2)) in {True, False}


def test_same_text():  # TRV121
    got = slug("A b")
    assert str(got) == str(got)


def test_same_type():  # TRV121
    got = price(2)
    assert type(got) is type(got)


def test_instance_of_itself():  # TRV121
    got = price(2)
    assert isinstance(got, type(got))


def test_never_unlike():  # TRV121
    got = price(2)
    assert not (got != got)


def test_all_of_nothing():  # TRV121
    price(2)
    assert all([])


def test_idle_loop():  # TRV121
    price(2)
    for n in [1, 2]:
        assert n


def test_own_books():  # TRV121
    price(2)
    total = 0
    for n in (1, 2):
        total += n
    assert total == 3


class ShopCase(unittest.TestCase):
    def test_true(self):  # TRV121
        price(2)
        self.assertTrue(True)

    def test_equal(self):  # TRV121
        got = price(2)
        self.assertEqual(got, got)

    def test_not_none(self):  # TRV121
        price(2)
        self.assertIsNotNone([])
