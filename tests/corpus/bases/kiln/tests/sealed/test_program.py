from pathlib import Path

import pytest

from kiln import Segment, minutes, peak
from kiln.program import load

BISQUE = (Path(__file__).parents[2] / "fixtures" / "sealed" / "bisque.json").read_text()


def test_a_ramp_takes_the_time_of_its_rate():
    assert minutes([Segment(target=120, rate=100)]) == 60


def test_a_hold_adds_its_minutes():
    assert minutes([Segment(target=120, rate=100, hold=15)]) == 75


def test_cooling_takes_time_as_well():
    assert minutes([Segment(target=620, rate=600), Segment(target=20, rate=600)]) == 120


def test_a_rate_of_nothing_is_refused():
    with pytest.raises(ValueError):
        minutes([Segment(target=100, rate=0)])


@pytest.mark.parametrize(("start", "expected"), [(20, 670), (220, 550)])
def test_the_bisque_program_takes_its_time(start, expected):
    assert minutes(load(BISQUE), start) == expected


def test_the_peak_is_the_highest_target():
    assert peak(load(BISQUE)) == 1000
