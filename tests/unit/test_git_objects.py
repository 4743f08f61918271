"""Raw tree objects are read and written as git does."""

from __future__ import annotations

import zlib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from trivet.git_objects import FOLDER, Item, format_tree, hash_of, parse_tree, write_loose

NAMES = st.binary(min_size=1, max_size=8).filter(lambda name: b"\0" not in name and b"/" not in name)
ITEMS = st.dictionaries(
    NAMES, st.tuples(st.sampled_from([0o100644, 0o100755, 0o120000, 0o160000, FOLDER]), st.binary(min_size=20, max_size=20))
)


@given(ITEMS)
def test_a_tree_survives_the_round_trip(rows: dict[bytes, tuple[int, bytes]]) -> None:
    items = [Item(name=name, mode=mode, oid=oid.hex()) for name, (mode, oid) in rows.items()]
    assert set(parse_tree(format_tree(items), 20)) == set(items)
    assert format_tree(reversed(items)) == format_tree(items)


def test_a_folder_sorts_as_if_its_name_ended_with_a_slash() -> None:
    names = [Item(name=name, mode=mode, oid="0" * 40) for name, mode in ((b"a", FOLDER), (b"a.b", 0o100644), (b"a0", 0o100644))]
    assert [item.name for item in parse_tree(format_tree(names), 20)] == [b"a.b", b"a", b"a0"]


def test_ids_are_those_of_git() -> None:
    assert hash_of("blob", b"", "sha1") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert hash_of("tree", b"", "sha256") == "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"


def test_a_loose_object_is_written_once_under_its_id(tmp_path: Path) -> None:
    oid = write_loose(tmp_path, "blob", b"x", "sha1")
    assert write_loose(tmp_path, "blob", b"x", "sha1") == oid
    assert zlib.decompress((tmp_path / oid[:2] / oid[2:]).read_bytes()) == b"blob 1\0x"
