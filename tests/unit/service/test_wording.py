"""Numbers and times as people read them."""

from __future__ import annotations

import pytest

from trivet.service import wording

NOW = 1_796_099_400.0
DAY = 86_400


@pytest.mark.parametrize(
    ("away", "told"),
    [(0, "now"), (-1, "1 second ago"), (-59, "59 seconds ago"), (-61, "1 minute ago"), (7200, "in 2 hours"), (-40 * DAY, "40 days ago"), (-61 * DAY, "2 months ago"), (400 * DAY, "in 1 year")],
)
def test_a_distance_in_time_is_told_in_its_largest_whole_unit(away, told) -> None:
    assert wording.ago(NOW + away, NOW) == told


@pytest.mark.parametrize(
    ("seconds", "told"), [(None, ""), (0.0004, "0.4 ms"), (0.008, "8 ms"), (4.21, "4.2 s"), (59.6, "1 min"), (200, "3 min 20 s"), (7500, "2 h 5 min"), (7205, "2 h")]
)
def test_a_duration_has_no_more_digits_than_it_means(seconds, told) -> None:
    assert wording.span(seconds) == told


def test_times_are_iso_and_utc() -> None:
    assert (wording.stamp(NOW), wording.machine(NOW), wording.day(NOW)) == ("2026-12-01 04:30 UTC", "2026-12-01T04:30:00Z", "2026-12-01")


def test_a_share_is_never_rounded_to_all_or_nothing() -> None:
    assert [wording.percent(part, 1000) for part in (0, 1, 500, 999, 1000)] == ["0 %", "1 %", "50 %", "99 %", "100 %"]
    assert wording.percent(0, 0) == "\u2013"


def test_counts_agree_with_their_noun() -> None:
    assert [wording.counted(n, noun) for n, noun in ((1, "test"), (2000, "test"), (2, "repository"), (2, "day"))] == ["1 test", "2,000 tests", "2 repositories", "2 days"]


@pytest.mark.parametrize(("value", "top"), [(0, 1), (1, 1), (3, 5), (5, 5), (51, 100), (101, 200), (70_000, 100_000)])
def test_an_axis_ends_at_a_round_number_that_holds_the_value(value, top) -> None:
    assert wording.nice_top(value) == top
