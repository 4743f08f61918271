"""The log: appended safely, checked strictly, and what it proves."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from trivet.attest.checkpoint import Checkpoint, opened, signed
from trivet.attest.log import Log, verdict_entry, withdrawn_entry
from trivet.attest.merkle import extends, includes, leaf_hash
from trivet.errors import SignatureError
from trivet.verifying import Wanted, answer
from unit.attest.made import KEY, NOW, OTHER, envelope, trust

DATA = envelope()
FOUND = answer(DATA, trust(), Wanted(), now=NOW)


def entry(number: int = 0) -> dict[str, Any]:
    """The entry of a decision; each number another envelope."""
    return verdict_entry(DATA + b" " * number, FOUND.facts, merge=FOUND.merge, key=FOUND.key)


def filled(path: Path, count: int) -> Log:
    """A log of so many entries."""
    log = Log(path)
    for number in range(count):
        assert log.append(entry(number), now=NOW + number).number == number
    return log


def test_entries_are_read_back_in_order_and_chained(tmp_path: Path) -> None:
    """Each names the digest of the line before it."""
    log = filled(tmp_path / "log", 3)
    lines = (tmp_path / "log").read_bytes().splitlines()
    assert [row["previous"] for row in log.entries()] == ["0" * 64, *(hashlib.sha256(line).hexdigest() for line in lines[:2])]
    assert [row["index"] for row in log.entries()] == [0, 1, 2]
    assert log.leaves() == [leaf_hash(line) for line in lines]


def test_proofs_of_the_log_hold_against_its_heads(tmp_path: Path) -> None:
    """Of each entry, and from each earlier head to the last."""
    log = filled(tmp_path / "log", 7)
    last = log.head()
    for number in range(7):
        proof = log.prove_inclusion(number)
        assert includes(leaf_hash(proof["entry"].encode()), number, 7, [bytes.fromhex(step) for step in proof["path"]], last.root)
        early = log.head(number)
        proof = log.prove_consistency(number)
        assert extends(number, early.root, 7, last.root, [bytes.fromhex(step) for step in proof["path"]])
    for bad in (lambda: log.prove_inclusion(7), lambda: log.prove_inclusion(5, 5), lambda: log.prove_consistency(8), lambda: log.head(8)):
        with pytest.raises(SignatureError):
            bad()


def test_what_is_withdrawn_no_longer_holds_and_is_not_gone(tmp_path: Path) -> None:
    """With its reason."""
    log = filled(tmp_path / "log", 2)
    assert log.check_holds(DATA) == 0
    log.append(withdrawn_entry(hashlib.sha256(DATA).hexdigest(), "wrong base"), now=NOW)
    with pytest.raises(SignatureError, match="withdrawn: wrong base"):
        log.check_holds(DATA)
    assert log.check_holds(DATA + b" ") == 1
    assert len(log.entries()) == 3
    with pytest.raises(SignatureError, match="not in the log"):
        log.check_holds(b"{}")


@pytest.mark.parametrize("left", [1, 20, -1])
def test_a_line_that_a_crash_cut_short_goes_with_the_next_append(left: int, tmp_path: Path) -> None:
    """It was never promised to anybody; until then the log says that it is torn."""
    path = tmp_path / "log"
    filled(path, 2)
    whole = path.read_bytes()
    third = Log(path).append(entry(2), now=NOW)
    full = path.read_bytes()
    path.write_bytes(full[: len(whole) + left] if left > 0 else full[:left])
    with pytest.raises(SignatureError, match="torn"):
        Log(path).head()
    assert Log(path).append(entry(3), now=NOW) != third
    assert len(Log(path).entries()) == 3
    assert path.read_bytes().startswith(whole)


def test_a_first_line_that_a_crash_cut_short_goes_too(tmp_path: Path) -> None:
    """The log is then empty, as it was promised."""
    (tmp_path / "log").write_bytes(b'{"index":0')
    assert Log(tmp_path / "log").append(entry(), now=NOW).number == 0
    assert len(Log(tmp_path / "log").entries()) == 1


def test_a_full_disk_leaves_the_log_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was half written is taken away, and the caller is told."""
    path = tmp_path / "log"
    log = filled(path, 1)
    before, write = path.read_bytes(), os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) > 50:
            return write(descriptor, data[:50])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", lambda descriptor, data: full(descriptor, data) if len(data) != 40 else full(descriptor, b"x" * 9))
    with pytest.raises(SignatureError, match="No space left"):
        log.append({**entry(1), "repository": "r" * 37}, now=NOW)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert log.append(entry(1), now=NOW).number == 1


def test_writers_at_one_time_do_not_mix_their_lines(tmp_path: Path) -> None:
    """They wait for each other."""
    path = tmp_path / "log"
    threads = [threading.Thread(target=lambda start=start: [Log(path).append(entry(start + n), now=NOW) for n in range(15)]) for start in (0, 100, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row["index"] for row in Log(path).entries()] == list(range(45))
    assert len({row["sha256"] for row in Log(path).entries()}) == 45


def test_a_clock_that_was_set_back_does_not_break_the_log(tmp_path: Path) -> None:
    """The entry gets the time of the one before it."""
    log = filled(tmp_path / "log", 1)
    log.append(entry(1), now=NOW - 5000)
    assert [row["time"] for row in log.entries()] == ["2026-09-21T14:13:20Z"] * 2


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "other"}, {"sha256": "0"}, {"merge": float("nan")}, {"more": 1}, {"kind": "withdrawn"},
        {"repository": "r" * 100_001}, {"sha256": 7},
    ],
)  # fmt: skip
def test_an_entry_of_another_form_is_not_appended(change: dict[str, Any], tmp_path: Path) -> None:
    """Nothing gets in that could not be read back."""
    log = filled(tmp_path / "log", 1)
    before = (tmp_path / "log").read_bytes()
    with pytest.raises((SignatureError, ValueError)):
        log.append({**entry(1), **change}, now=NOW)
    assert (tmp_path / "log").read_bytes() == before
    with pytest.raises(SignatureError):
        log.append(withdrawn_entry("0" * 64, " "), now=NOW)


def test_a_link_in_place_of_the_log_is_not_followed(tmp_path: Path) -> None:
    """Whoever can write the folder must not choose which file grows."""
    (tmp_path / "victim").write_bytes(b"")
    (tmp_path / "log").symlink_to(tmp_path / "victim")
    with pytest.raises(SignatureError, match="cannot be written"):
        Log(tmp_path / "log").append(entry(), now=NOW)
    assert (tmp_path / "victim").read_bytes() == b""


def test_a_line_in_another_writing_is_refused(tmp_path: Path) -> None:
    """The same data in other bytes would be another leaf."""
    path = tmp_path / "log"
    filled(path, 1)
    path.write_text(json.dumps(json.loads(path.read_text())) + "\n")
    with pytest.raises(SignatureError, match="canonical"):
        Log(path).head()


POINT = Checkpoint(origin="log.example/verdicts", size=12, root=bytes(range(32)))


def test_a_checkpoint_is_read_back_and_bound_to_key_and_origin() -> None:
    """In the text form that other tools for transparency logs read."""
    data = signed(POINT, KEY)
    assert opened(data, KEY.public_key()) == POINT
    assert data.decode().split("\n")[:3] == ["log.example/verdicts", "12", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="]
    with pytest.raises(SignatureError, match="another key"):
        opened(data, OTHER.public_key())
    for origin in ("", "a b", "a+b", "a\nb"):
        with pytest.raises(SignatureError, match="cannot name a log"):
            signed(POINT._replace(origin=origin), KEY)


def test_every_changed_bit_of_a_checkpoint_is_refused() -> None:
    """None of them leaves a checkpoint that holds."""
    data = signed(POINT, KEY)
    for place in range(len(data) * 8):
        changed = bytearray(data)
        changed[place // 8] ^= 1 << place % 8
        with pytest.raises(SignatureError):
            opened(bytes(changed), KEY.public_key())
