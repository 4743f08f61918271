"""What production code does not do yet: red on base, a specification."""

import shop


def test_discount():
    from shop import discount

    assert discount(100) == 90


def test_rounds_up():
    assert shop.share(1, 3) == 0.34


def test_more_of_a_cart():
    assert shop.Cart().add("a").count("a") == 1
