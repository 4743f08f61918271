import pytest


@pytest.fixture
def cold():
    return 20
