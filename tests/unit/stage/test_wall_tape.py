"""The tape: system calls laid out for a process that runs no interpreter."""

from __future__ import annotations

import pytest

from trivet.stage import wall_native as native
from trivet.stage.wall_syscalls import NUMBERS
from trivet.stage.wall_tape import _CODE, CALLS, Tape


def test_the_loop_is_what_it_says():
    """Its jumps land on the second instruction and on the exit."""
    back = _CODE.index(b"\xeb")
    assert back + 2 + int.from_bytes(_CODE[back + 1 : back + 2], "little", signed=True) == 3
    fail = _CODE.index(b"\x78")
    assert _CODE[fail + 2 + _CODE[fail + 1] :].startswith(b"\xbf\x7f")
    assert _CODE.count(b"\x0f\x05") == 2


def test_numbers_agree_with_the_filters_table():
    """Where both tables name a call they name the same number."""
    assert {name: number for name, number in CALLS.items() if name in NUMBERS and NUMBERS[name][0] != number} == {}


def test_rows_hold_call_arguments_and_room_for_the_result():
    """Each call is a row of eight words; numbers go in as they are, negative ones as 64 bits."""
    tape = Tape()
    tape.add("setresuid", 5, -1, 7)
    tape.add("setsid")
    assert tape._rows == [117, 5, 2**64 - 1, 7, 0, 0, 0, 0, 112, 0, 0, 0, 0, 0, 0, 0]


def test_bytes_stay_where_they_are():
    """Memory that a row points to is held by the tape."""
    tape = Tape()
    tape.add("write", 1, b"text", 4)
    assert tape._rows[2] > 4096
    assert tape._kept


def test_no_tape_on_other_machines(monkeypatch):
    """Where the loop is not known there is no tape, and the caller is told."""
    monkeypatch.setattr(native, "MACHINE", "aarch64")
    monkeypatch.setattr("trivet.stage.wall_tape._player", lambda: None)
    with pytest.raises(OSError, match="no tape"):
        Tape().play()
