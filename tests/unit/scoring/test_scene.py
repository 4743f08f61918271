"""Which modules production code brings, and which tests are sampled."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trivet.scoring.control import sample
from trivet.scoring.harder import files_of, variation
from trivet.scoring.scene import below, top_level


def test_top_level_names_follow_the_import_paths() -> None:
    """Top-level names follow the import paths."""
    paths = ["src/shop/a.py", "src/single.py", "src/native.cpython-312.so", "src/bad-name/a.py", "lib/other/b.py"]
    assert top_level(paths, ["src"]) == {"shop", "single", "native"}
    assert top_level(paths, ["src/", "./lib"]) == {"shop", "single", "native", "other"}
    assert top_level(paths, ["."]) == {"src", "lib"}


def test_below_is_by_whole_parts() -> None:
    """A path lies below a root by whole parts of its name."""
    assert below("src/a.py", ("src",))
    assert below("src", ("src",))
    assert not below("srcs/a.py", ("src",))


tests = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 60)).map(lambda row: f"{row[0]}.py::t{row[1]}"), unique=True)


@given(tests, st.integers(0, 2**48))
def test_every_file_is_sampled(ids: list[str], secret: int) -> None:
    """Each file has at least two sampled tests, or all it has; the secret decides which."""
    chosen = sample(ids, secret)
    assert chosen <= set(ids)
    assert chosen == sample(ids, secret)
    for file in {name.split("::")[0] for name in ids}:
        mine = [name for name in ids if name.startswith(file)]
        assert len([name for name in chosen if name.startswith(file)]) >= min(2, len(mine))


@given(st.integers(0, 2**48))
def test_another_environment_is_another_one(secret: int) -> None:
    """The varied run has another hash seed and a clock at least a week away."""
    other = variation(secret)
    assert other.hash_seed > 0
    assert other.clock_shift_s > 7 * 86_400
    assert other.order_seed is not None


def test_files_keep_the_order_of_the_manifest() -> None:
    """The files of some tests come in the order of the manifest."""
    assert files_of(["b.py::x", "a.py::y[::]"], ("a.py", "c.py", "b.py")) == ("a.py", "b.py")
