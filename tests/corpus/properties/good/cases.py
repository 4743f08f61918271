"""Properties in the manner of unittest, and one with generated inputs."""

import unittest

from hypothesis import given
from hypothesis import strategies as st
from shop import Cart, price, slug


class CartCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = Cart().add("b", 5)

    def setUp(self):
        self.cart = Cart().add("a")

    def test_total(self):
        self.assertEqual(self.cart.total, 2)

    def test_shared(self):
        self.assertEqual(self.shared.items, [("b", 5)])

    def test_raises(self):
        with self.assertRaises(ValueError):
            price(-1)


@given(st.integers(0, 1000))
def test_even(n):
    assert price(n) % 2 == 0


@given(st.text("ab ", max_size=9))
def test_no_blanks(text):
    assert " " not in slug(text)
