def test_cold(cold):
    assert cold == 20
