import sys

import pytest

from kiln import Segment, peak


class TestPeak:
    def test_one_segment(self):
        assert peak([Segment(target=5, rate=1)]) == 5

    def test_order_does_not_count(self):
        assert peak([Segment(target=9, rate=1), Segment(target=5, rate=1)]) == 9


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX only")
def test_on_this_platform():
    assert peak([Segment(target=-5, rate=1)]) == -5
