"""Test ids that name the present moment are steady."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from trivet.probe import steady

NOON = 1_800_000_000.0


@pytest.fixture
def moments(monkeypatch: pytest.MonkeyPatch) -> steady.Moments:
    monkeypatch.setattr(steady.time, "time", lambda: NOON)
    return steady.Moments()


def test_the_present_moment_becomes_a_word(moments: steady.Moments) -> None:
    """Time of day, date and seconds of now become words, in the usual spellings."""
    now = time.gmtime(NOON + 1)
    assert moments.plain(time.strftime("%H:%M:%S %Y-%m-%d", now)) == "<time> <today>"
    assert moments.plain(time.strftime("%m-%d-%Y %H:%M:%S", now)) == "<today> <time>"
    assert moments.plain(time.strftime("%Y-%m-%dT%H:%M:%S.123456", now)) == "<today>T<time>"
    assert moments.plain("1800000001.5") == moments.plain("1800000000") == "<moment>"


@pytest.mark.parametrize("text", ["2014-12-22T03:12:58", "12:00:00", "1400000000", "0x12", "10.0.0.1", "20200101", "a::b"])
def test_other_moments_and_numbers_stay(moments: steady.Moments, text: str) -> None:
    """Other moments and numbers stay as they are."""
    assert moments.plain(text) == text


def test_addresses_become_steady(moments: steady.Moments) -> None:
    """Addresses in memory become steady."""
    assert moments.plain("<object at 0x7f0011223344>") == "<object at 0x>"


def item(name: str) -> SimpleNamespace:
    one = SimpleNamespace(_nodeid=name)
    one.nodeid = name
    return one


def test_ids_that_would_fall_together_keep_their_own(moments: steady.Moments) -> None:
    """Two ids that would get the same name keep their own."""
    one, two, three = item("a.py::t[0x7f0011223344]"), item("a.py::t[0x7f0011223355]"), item("a.py::u[0x7f0011223344]")
    steady.rename([one, two, three], moments)
    assert (one._nodeid, two._nodeid, three._nodeid) == (one.nodeid, two.nodeid, "a.py::u[0x]")
