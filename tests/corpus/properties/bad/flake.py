"""Properties that answer differently under another hash seed, order or moment."""

import os
import random

import shop
from shop import price, tags

SEEN = []


def test_hash_seed():  # TRV123
    assert price(hash("shop") % 1000) == 2 * PINNED


def test_order_of_a_set():  # TRV123
    assert "".join(tags("one two three four five six seven eight")) == JOINED


def test_shared_state_first():  # TRV123
    SEEN.append(price(1))
    assert SEEN == [2]


def test_shared_state_second():  # TRV123
    SEEN.append(price(2))
    assert SEEN == [2, 4]


def test_unseeded_chance():  # TRV123
    assert price(random.randrange(10**9)) == 2 * DRAWN


def test_time_zone():  # TRV123
    assert shop.slug(os.environ.get("TZ", "")) == "utc"
