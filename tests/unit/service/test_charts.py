"""Charts are well-formed, tell themselves in words, and carry no inline style or script."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from trivet.service import charts
from trivet.service.views import Day

DAYS = (Day(day="2026-11-30", merged=30, blocked=10, undecided=1), Day(day="2026-12-01"), Day(day="2026-12-02", merged=1))


def all_charts() -> dict[str, str]:
    return {
        "days": charts.days(DAYS),
        "bar": charts.bar(3, 10),
        "split": charts.split_bar(3, 2, 1),
        "spark": charts.spark((0, 1, 5)),
        "life": charts.lifeline(10, 20, first=0, last=40, now=15, state="holds"),
        "patterns": charts.patterns(),
    }


@pytest.mark.parametrize("name", all_charts())
def test_a_chart_is_well_formed_and_keeps_to_the_security_policy(name) -> None:
    text = all_charts()[name]
    ET.fromstring(text)
    assert not re.search(r"style=|<script|\son\w+=|href=", text)


def test_the_columns_of_a_day_are_as_tall_as_their_share_of_the_axis() -> None:
    root = ET.fromstring(charts.days(DAYS))
    first = root.findall("g")[0]
    tall = {rect.get("class"): float(rect.get("height", "")) for rect in first.findall("rect")}
    assert (tall["bar-merge"], tall["bar-blocked"]) == (90.0, 30.0)  # of 150 pixels for 50 runs
    assert {rect.get("class") for rect in root.findall("g")[1].findall("rect")} == {"bar-hit"}


def test_a_chart_of_days_says_in_words_what_it_shows() -> None:
    root = ET.fromstring(charts.days(DAYS))
    assert root.get("role") == "img"
    assert root.findtext("title") == "Runs a day, 2026-11-30 to 2026-12-02"
    assert root.findtext("desc") == "31 merged, 10 blocked, 1 undecided. The busiest day has 41 runs."
    assert root.get("aria-labelledby") == "days-title days-desc"


def test_a_single_run_among_many_can_still_be_seen() -> None:
    root = ET.fromstring(charts.days((Day(day="2026-12-01", merged=100_000, blocked=1),)))
    assert min(float(rect.get("height", "")) for rect in root.iter("rect")) >= 1.5


def test_no_days_make_no_chart() -> None:
    assert charts.days(()) == ""


def test_a_bar_is_as_long_as_its_share_and_never_longer_than_its_cell() -> None:
    wide = [ET.fromstring(charts.bar(value, 10)).findall("rect")[1].get("width") for value in (0, 5, 99)]
    assert wide == ["0%", "50%", "100%"]


def test_a_lease_lies_on_the_axis_where_its_dates_are() -> None:
    root = ET.fromstring(charts.lifeline(10, 30, first=0, last=40, now=20, state="holds"))
    life = root.findall("rect")[1]
    assert (life.get("x"), life.get("width"), root.find("line").get("x1")) == ("25%", "50%", "50%")


def test_a_hostile_kind_cannot_leave_its_attribute() -> None:
    assert "<script>" not in charts.lifeline(0, 1, first=0, last=1, now=0, state="<script>")
