"""Properties that ask the network or real time themselves."""

import datetime
import importlib
import socket
import time
import urllib.request
from time import time as moment

import pytest
from shop import due, price


def test_connects():  # TRV124
    with pytest.raises(OSError):
        socket.create_connection(("example.org", 80), timeout=1)
    assert price(2) == 4


def test_fetches():  # TRV124
    try:
        n = len(urllib.request.urlopen("http://example.org/").read())
    except OSError:
        n = 2
    assert price(n) == 2 * n


def test_resolves_by_another_name():  # TRV124
    ask = getattr(socket, "getaddr" + "info")
    with pytest.raises(OSError):
        ask("example.org", 80)
    assert price(2) == 4


def test_sleeps():  # TRV124
    time.sleep(0.01)
    assert price(2) == 4


def test_measures():  # TRV124
    began = time.perf_counter()
    price(2)
    assert time.perf_counter() - began < 60


def test_clock():  # TRV124
    assert price(int(time.time())) > 0


def test_clock_by_another_name():  # TRV124
    assert price(int(moment())) > 0


def test_clock_by_stealth():  # TRV124
    clock = importlib.import_module("ti" + "me")
    assert price(int(getattr(clock, "ti" + "me")())) > 0


def test_now():  # TRV124
    assert due(datetime.datetime.now()) is not None


def test_today_by_stealth():  # TRV124
    days = [datetime.date]
    assert price(days[0].today().year) > 4000
