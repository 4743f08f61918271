"""Trusted keys: validity, purpose, revocation, and how the file is read."""

from __future__ import annotations

import base64

import pytest

from trivet.attest import SKEW_S
from trivet.attest.keys import key_id
from trivet.attest.times import read, written
from trivet.attest.trust import Trust, key_row, read_trust, revoked_row
from trivet.errors import SignatureError
from trivet.verifying import Wanted, answer
from unit.attest.made import KEY, NOW, OTHER, envelope

ID = key_id(KEY.public_key())
DAY = 86_400


def trust_file(*rows: str) -> Trust:
    """A file of trusted keys."""
    return read_trust(("schema = 1\n" + "".join(rows)).encode(), "keys.toml")


def row(start: float = NOW - DAY, end: float | None = None, signs: tuple[str, ...] | None = None) -> str:
    """The row of our key."""
    more = {} if signs is None else {"signs": signs}
    return key_row(KEY.public_key(), name="gate", start=int(start), end=None if end is None else int(end), **more)


def told(trust: Trust, now: float = NOW) -> str:
    """Why a decision of NOW by our key is refused; "" when it is not."""
    try:
        answer(envelope(), trust, Wanted(), now=now)
    except SignatureError as error:
        return error.message
    return ""


@pytest.mark.parametrize(
    ("trust", "reason"),
    [
        (trust_file(row()), ""),
        (trust_file(row(end=NOW + 1)), ""),
        (trust_file(row(end=NOW)), "no longer valid"),
        (trust_file(row(start=NOW + 1)), "not valid yet"),
        (trust_file(row(signs=("src-score", "log"))), "not trusted to sign decision"),
        (trust_file(row(signs=("decision",))), ""),
        (trust_file(row(), revoked_row(ID, at=int(NOW) + 1, reason="rotated")), ""),
        (trust_file(row(), revoked_row(ID, at=int(NOW), reason="rotated")), "was revoked on"),
        (trust_file(row(), revoked_row(ID, at=int(NOW) + DAY, reason="compromised")), "as compromised"),
        (trust_file(row(), revoked_row(ID, at=int(NOW) + DAY, reason="rotated"), revoked_row(ID, at=1, reason="compromised")), "as compromised"),
        (trust_file(key_row(OTHER.public_key(), name="", start=0, end=None)), "signed by key"),
        (trust_file(), "no key is trusted"),
    ],
)  # fmt: skip
def test_a_key_counts_as_long_as_the_file_says(trust: Trust, reason: str) -> None:
    """At the time of the statement; one that others hold never counts, whatever time it writes."""
    assert reason in told(trust, NOW + 2 * DAY)
    assert bool(reason) == bool(told(trust, NOW + 2 * DAY))


def test_a_time_that_is_yet_to_come_is_refused() -> None:
    """But for what clocks of two hosts differ."""
    assert told(trust_file(row()), NOW - SKEW_S) == ""
    assert "yet to come" in told(trust_file(row()), NOW - SKEW_S - 1)


GOOD = row()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "schema must be 1"),
        ("schema = true", "schema must be 1"),
        ("schema = 2", "schema must be 1"),
        ("schema = 1\nkeys = []", "unknown key 'keys'"),
        ("schema = 1\nkey = 1", "must be rows"),
        ("schema = 1\n" + GOOD + GOOD, "twice"),
        ("schema = 1\n" + GOOD.replace("id =", "di ="), "unknown key 'di'"),
        ("schema = 1\n" + GOOD.replace(f'id = "{ID}"\n', ""), "id is missing"),
        ("schema = 1\n" + GOOD.replace(ID, "0" * 64), "id is not that"),
        ("schema = 1\n" + GOOD.replace("T", " ", 1).replace("Z\n", "\n"), "offset"),
        ("schema = 1\n" + GOOD + "until = 2000-01-01T00:00:00Z\n", "after from"),
        ("schema = 1\n" + GOOD + 'signs = ["all"]\n', "signs must be"),
        ("schema = 1\n" + GOOD + "signs = []\n", "signs must be"),
        ("schema = 1\n" + revoked_row(ID, at=0, reason="rotated"), "no \\[\\[key\\]\\] has the id"),
        ("schema = 1\n" + GOOD + revoked_row(ID, at=0, reason="lost"), "reason must be"),
        ("schema = 1\n" + GOOD.replace("public = ", f'public = "{base64.b64encode(bytes(31)).decode()}"\n#'), "not the bytes"),
        ('schema = 1\n[[identity]]\nissuer = ""\nsubject = "a"\nfrom = 2026-01-01T00:00:00Z\n', "must not be empty"),
        ("schema = 1\n[[key", "is not TOML"),
        ("schema = 1\nname = '\udcff'", "is not TOML"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_as_documented_is_refused(text: str, reason: str) -> None:
    """With what is wrong, and in which row."""
    with pytest.raises(SignatureError, match=reason):
        read_trust(text.encode("utf-8", "surrogateescape"), "keys.toml")


def test_the_row_that_is_wrong_is_named() -> None:
    """A file can have many."""
    with pytest.raises(SignatureError) as caught:
        read_trust(("schema = 1\n" + GOOD + GOOD.replace("gate", "other")).encode(), "keys.toml")
    assert caught.value.where == "[[key]] number 2 of keys.toml"


@pytest.mark.parametrize("seconds", [0, 1, 951_782_400, 951_868_799, 1_709_164_800, NOW, 4_107_542_399, 32_503_680_000])
def test_a_time_is_read_as_it_was_written(seconds: float) -> None:
    """Leap days, centuries and all."""
    assert read(written(seconds)) == int(seconds)


@pytest.mark.parametrize(
    "text",
    ["", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-12-01T24:00:00Z", "2026-12-01T00:00:60Z", "2026-12-01 00:00:00Z", "2026-12-01T00:00:00+", 7,
     "2026-1-01T00:00:000Z", "2026-12-01T00:00:0\u0660Z", "+026-12-01T00:00:00Z", "2026-12-01T00:00: 1Z"],
)  # fmt: skip
def test_what_is_no_time_in_the_one_form_is_refused(text: object) -> None:
    """One moment has one text."""
    with pytest.raises(ValueError, match="is no time like"):
        read(text)
