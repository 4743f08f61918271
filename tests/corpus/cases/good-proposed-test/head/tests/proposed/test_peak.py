from kiln import Segment, peak


def test_peak():
    assert peak([Segment(target=1, rate=1)]) == 1
