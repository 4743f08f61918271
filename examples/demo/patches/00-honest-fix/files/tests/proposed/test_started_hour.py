from parking import fee


def test_a_started_hour_counts():
    assert fee(121) == 750
