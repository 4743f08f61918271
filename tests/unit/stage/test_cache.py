"""The cache keeps values by content, and is no cache where it cannot be trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from trivet.model import Calibrated, Calibration, RunEnd
from trivet.stage.cache import Cache, build_digest, key_of

VALUE = Calibration(
    tests=(Calibrated(id="a::b", file="a", outcome="passed", seconds=0.5, controls=(("negate", 3),)),),
    errors=(("c", "no"),),
    end=RunEnd(how="closed"),
)
KEY = key_of({"a": 1})


def test_a_value_comes_back_as_it_went(tmp_path: Path) -> None:
    """A value comes back as it went."""
    Cache(tmp_path / "c").put("calibration", KEY, VALUE)
    assert Cache(tmp_path / "c").get("calibration", KEY, Calibration) == VALUE


def test_no_folder_keeps_nothing() -> None:
    """Without a folder nothing is kept."""
    cache = Cache(None)
    cache.put("calibration", KEY, VALUE)
    assert cache.get("calibration", KEY, Calibration) is None


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"tests": 3}', b"\xff"])
def test_a_value_of_another_shape_is_no_value(tmp_path: Path, data: bytes) -> None:
    """A value of another shape is no value."""
    cache = Cache(tmp_path / "c")
    assert cache.store is not None
    assert cache.store.put("calibration", KEY, data, family="")
    assert cache.get("calibration", KEY, Calibration) is None


def test_a_value_that_cannot_be_encoded_is_not_kept(tmp_path: Path) -> None:
    """A value that cannot be encoded is not kept."""
    cache = Cache(tmp_path / "c")
    cache.put("calibration", KEY, object())
    assert cache.store is not None
    assert cache.store.info()["rows"] == {}


def test_an_audit_finds_nothing_and_keeps_what_it_makes(tmp_path: Path) -> None:
    """An audit finds nothing, and keeps what it makes."""
    Cache(tmp_path / "c").put("calibration", KEY, VALUE)
    audit = Cache(tmp_path / "c", audit=True)
    assert audit.get("calibration", KEY, Calibration) is None
    audit.put("calibration", key_of({"b": 1}), VALUE)
    assert Cache(tmp_path / "c").get("calibration", key_of({"b": 1}), Calibration) == VALUE


def test_keys_depend_on_every_fact_and_not_on_their_order() -> None:
    """Keys depend on every fact, and not on the order of facts."""
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
    assert len({key_of({"a": 1}), key_of({"a": 2}), key_of({"b": 1}), key_of({})}) == 4
    assert build_digest() == build_digest()
