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
def test_a_damaged_entry_is_no_entry(tmp_path: Path, data: bytes) -> None:
    """A damaged entry is no entry."""
    cache = Cache(tmp_path / "c")
    cache.put("calibration", KEY, VALUE)
    (entry,) = (tmp_path / "c").rglob("*.json")
    entry.write_bytes(data)
    assert cache.get("calibration", KEY, Calibration) is None


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path) -> None:
    """A folder that others may write to is not used."""
    (tmp_path / "c").mkdir()
    (tmp_path / "c").chmod(0o777)
    Cache(tmp_path / "c").put("calibration", KEY, VALUE)
    assert not list((tmp_path / "c").iterdir())


def test_no_partial_entry_is_left(tmp_path: Path) -> None:
    """A value that cannot be encoded leaves nothing behind."""
    Cache(tmp_path / "c").put("calibration", KEY, object())
    assert not [path for path in (tmp_path / "c").rglob("*") if path.is_file()]


def test_keys_depend_on_every_fact_and_not_on_their_order() -> None:
    """Keys depend on every fact, and not on the order of facts."""
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
    assert len({key_of({"a": 1}), key_of({"a": 2}), key_of({"b": 1}), key_of({})}) == 4
    assert build_digest() == build_digest()
