"""The subject's clock: it stands where a test has set it, for everyone who asks, and goes on afterwards."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator

import pytest

from trivet.probe.split_clock import Clock, mark, seen_by_tests

MOMENT_NS = 1_700_000_000_123_456_789


@pytest.fixture
def clock() -> Iterator[Clock]:
    held = Clock()
    held.set(MOMENT_NS, 3600)
    yield held
    held.clear()


@pytest.mark.usefixtures("clock")
def test_all_ways_to_ask_agree() -> None:
    utc = dt.datetime(2023, 11, 14, 22, 13, 20, 123456, tzinfo=dt.UTC)
    assert (time.time_ns(), round(time.time(), 6)) == (MOMENT_NS, 1_700_000_000.123457)
    assert dt.datetime.now(dt.UTC) == utc
    assert dt.datetime.now() == (utc + dt.timedelta(hours=1)).replace(tzinfo=None)  # noqa: DTZ005 - local time is what is tested
    assert dt.datetime.now(dt.timezone(dt.timedelta(hours=-5))).hour == 17
    assert (time.gmtime().tm_hour, time.localtime().tm_hour, time.strftime("%H"), time.ctime()) == (22, 23, "23", "Tue Nov 14 23:13:20 2023")
    assert time.gmtime(0).tm_year == 1970
    assert dt.date.today() == dt.date(2023, 11, 14)  # noqa: DTZ011 - as above


@pytest.mark.usefixtures("clock")
def test_classes_stay_what_they_are() -> None:
    class Own(dt.datetime):
        pass

    assert type(dt.datetime.now(dt.UTC)) is dt.datetime
    assert type(Own.now(dt.UTC)) is Own


def test_the_clock_goes_on_when_it_is_given_back() -> None:
    before = {name: vars(dt.datetime)[name] for name in ("now", "utcnow")}
    held = Clock()
    held.set(MOMENT_NS, 0)
    held.clear()
    assert {name: vars(dt.datetime)[name] for name in before} == before
    assert "today" not in vars(dt.datetime)
    assert dt.datetime.now(dt.UTC).year > 2023


def test_a_clock_that_a_test_replaces_is_seen_with_its_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    first = mark()
    assert seen_by_tests(first) is None
    monkeypatch.setattr(time, "time_ns", lambda: MOMENT_NS)
    monkeypatch.setattr(time, "localtime", lambda: time.gmtime(7200))
    monkeypatch.setattr(time, "gmtime", lambda seconds=0, real=time.gmtime: real(seconds))
    assert seen_by_tests(first) == (MOMENT_NS, 7200)
