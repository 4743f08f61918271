"""Keys of whole verdicts: one changed input is another question."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivet import quick, recall, stamps
from trivet.stage.cache import key_of
from trivet.store import Store

COUNT = 10_000 if os.environ.get("TRIVET_LONG") else 300
OIDS = ("a" * 40, "b" * 40)


def mutated(rng: random.Random, value: object) -> object:
    """The value with exactly one thing in it changed."""
    if isinstance(value, dict) and value:
        name = rng.choice(sorted(value))
        return {**value, name: mutated(rng, value[name])}
    if isinstance(value, (list, tuple)) and value:
        at = rng.randrange(len(value))
        return [*value[:at], mutated(rng, value[at]), *value[at + 1 :]]
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, (int, float)):
        return value + rng.choice((1, -1)) * rng.randrange(1, 1000)
    text = str(value)
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice("abcdefghij0123456789-_ /") + text[at + rng.randrange(2) :] if text[at:] else text + "x"


FACTS: dict[str, object] = {
    "base": OIDS[0],
    "head": OIDS[1],
    "tests": ["tests/sealed/test_a.py", "tests/sealed/test_b.py"],
    "facts": {"interpreter": "python3", "distributions": "a==1 b==2", "seed": "0", "clock": "2026-09-22T12:00:00Z", "limits": "1 s"},
    "build": "0" * 64,
    "wall": {"name": "kernel", "guarantees": ["no network"], "lacks": []},
    "own": {"source": ["src/**"], "oracle": ["tests/sealed/**"], "inert": ["*.md"]},
    "score": {"timeout_s": 600, "reruns": 2, "controls": "sample", "vary": False, "exclude": []},
    "leases": [["f", "t", "", {"digest": "d", "expires_at": 1.0}]],
}


def test_one_changed_input_never_hits(tmp_path: Path) -> None:
    """Thousands of changes of a single input, each another key: none finds the value."""
    rng = random.Random(7)
    store = Store(tmp_path)
    assert store.put("evidence", key_of(FACTS), b"green", family="f")
    for _ in range(COUNT):
        other = mutated(rng, FACTS)
        assert isinstance(other, dict)
        if other != FACTS:
            assert store.get("evidence", key_of(other)) is None, other


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Revisions are ids already; no git is started."""
    monkeypatch.setattr(recall, "_git_dir", lambda _repo: "git")
    monkeypatch.setattr(recall, "_odd", lambda _git_dir: False)
    monkeypatch.setattr(recall, "_resolved", lambda _git_dir, revisions: revisions)


@pytest.mark.usefixtures("resolved")
def test_one_changed_part_of_a_question_never_hits(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(11)
    plain: dict[str, object] = {"repo": "/r", "base": OIDS[0], "head": OIDS[1], "python": "/p", "options": {"isolation": "split", "vary": True}}
    key = recall.key_of(recall.Asked(**plain))  # type: ignore[arg-type]
    assert key == recall.key_of(recall.Asked(**plain))  # type: ignore[arg-type]
    for _ in range(COUNT):
        other = mutated(rng, plain)
        assert isinstance(other, dict)
        if os.path.realpath(str(other["repo"])) != "/r" or {**other, "repo": ""} != {**plain, "repo": ""}:
            assert recall.key_of(recall.Asked(**other)) != key, other
    monkeypatch.setattr(recall, "own_stamp", lambda: "another trivet")
    assert recall.key_of(recall.Asked(**plain)) != key  # type: ignore[arg-type]


def test_an_interpreter_with_other_packages_has_another_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = tmp_path / "lib" / "python3.12" / "site-packages"
    (tmp_path / "bin").mkdir()
    packages.mkdir(parents=True)
    python = tmp_path / "bin" / "python"
    python.write_text("")

    def stamp() -> str:
        monkeypatch.setattr(stamps, "_known", {})
        return stamps.interpreter_stamp(str(python))

    seen = [stamp()]
    (packages / "a-1.dist-info").mkdir()
    seen.append(stamp())
    (packages / "x.pth").write_text("a")
    seen.append(stamp())
    (packages / "x.pth").write_text("ab")
    seen.append(stamp())
    (tmp_path / "pyvenv.cfg").write_text("home = elsewhere")
    seen.append(stamp())
    python.write_text("another")
    seen.append(stamp())
    assert len(set(seen)) == len(seen)


@given(st.dictionaries(st.sampled_from(["a", "b.json", "text"]), st.binary(max_size=200)))
def test_values_come_back_as_they_went(parts: dict[str, bytes]) -> None:
    assert recall.unpack(recall.pack(parts)) == parts


@given(st.binary(max_size=60))
def test_other_bytes_are_no_value_or_one_of_their_own(data: bytes) -> None:
    parts = recall.unpack(data)
    assert parts is None or recall.pack(parts) == data or len({*parts}) < data.count(b"\n")


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["--base", "a"],
        ["--base", "a", "--head", "b", "--json"],
        ["--base", "a", "--head", "b", "--sign", "k"],
        ["--base", "a", "--head", "b", "--review", "r"],
        ["--base", "a", "--head", "b", "--no-cache"],
        ["--base", "a", "--head", "b", "--base", "c"],
        ["--base", "a", "--head", "--out", "x"],
        ["--base", "a", "--he", "b"],
        ["--base", "a", "--head"],
        ["--base=", "--head", "b"],
        ["--vary=1", "--base", "a", "--head", "b"],
        ["a", "--base", "a", "--head", "b"],
    ],
)
def test_only_plain_calls_take_the_short_way(argv: list[str]) -> None:
    assert quick._parsed(argv) is None


def test_a_plain_call_is_read_as_the_long_way_reads_it() -> None:
    given_ = quick._parsed(["--base=a", "--head", "b", "--out", "o", "--vary", "--quiet"])
    assert given_ == {"base": "a", "head": "b", "out": "o", "vary": True, "quiet": True}


def test_files_of_an_earlier_run_do_not_stay(tmp_path: Path) -> None:
    (tmp_path / "decision.dsse.json").write_text("old")
    (tmp_path / ".trivet-left.tmp").write_text("old")
    (tmp_path / "own.txt").write_text("mine")
    quick.write(str(tmp_path), {name: name.encode() for name in (*quick.FILES, *quick.WORDS)})
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*quick.FILES, *quick.WORDS, "own.txt"])
    assert (tmp_path / "src_score.txt").read_bytes() == b"src_score.txt"


def test_about_one_hit_in_a_hundred_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    monkeypatch.setattr(os, "urandom", rng.randbytes)
    assert 50 < sum(recall.drawn() for _ in range(10_000)) < 150
