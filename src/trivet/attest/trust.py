"""Whose signatures count: one public key, or a file of trusted keys with validity, purpose and revocation.

The file is TOML and lies on base, where a patch cannot move it (``owners.keys``). A revocation is a row of its own, so that a key is never
deleted and everything that it signed can still be explained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from trivet.attest import LEGS, SKEW_S
from trivet.attest.envelope import Opened, open_envelope, plain_base64
from trivet.attest.keys import key_id, public_of_raw
from trivet.attest.times import read, written
from trivet.errors import SignatureError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

PURPOSES = ("decision", *LEGS, "log")
"""What a key may be trusted to sign: joined decisions (and their summaries), the verdict of one leg, heads of the log."""
LIMIT_B = 1_000_000
REASONS = ("rotated", "compromised")
_HINT = "see docs/signing.md for the form of the file"


class Trusted(NamedTuple):
    """One trusted key. ``start`` and ``end`` are seconds since the epoch (None: no bound); ``end`` is the first second too late."""

    public: Ed25519PublicKey
    name: str
    start: int | None
    end: int | None
    signs: tuple[str, ...]


class Identity(NamedTuple):
    """Somebody whom Sigstore's certificates name: the issuer's URL and the subject; validity and purpose as for keys."""

    issuer: str
    subject: str
    start: int | None
    end: int | None
    signs: tuple[str, ...]

    @property
    def label(self) -> str:
        """What stands in the place of a key's id."""
        return f"{self.subject} of {self.issuer}"


class Trust(NamedTuple):
    """All trusted keys by id, what was revoked (time, reason), trusted identities, and where this was read."""

    keys: Mapping[str, Trusted]
    revoked: Mapping[str, tuple[int, str]]
    identities: tuple[Identity, ...]
    source: str

    def open(self, data: bytes) -> Opened:
        """Open an envelope that one of the keys signed; whether that key may have, then, ``check`` says.

        Raises:
            SignatureError: with the one reason why it is refused.
        """
        return open_envelope(data, {name: row.public for name, row in self.keys.items()})

    def check(self, key: str, purpose: str, at: int, *, now: float) -> None:
        """Say whether ``key`` counted for ``purpose`` at the time that the statement claims.

        Raises:
            SignatureError: the claimed time is yet to come, the key was not valid then, is revoked, or has another purpose.
        """
        if at > now + SKEW_S:
            raise SignatureError(f"the statement claims a time that is yet to come: {written(at)}", hint="look at the clocks of both hosts")
        identity = next((row for row in self.identities if row.label == key), None)
        if identity is not None:
            _check_span(f"identity {identity.subject}", identity, purpose, at)
            return
        _check_span(f"key {key[:16]}", self.keys[key], purpose, at)
        when, reason = self.revoked.get(key, (None, ""))
        if when is None:
            return
        if reason == "compromised":
            # Whoever holds the key writes any time: what it says about when it signed is worth nothing.
            raise SignatureError(f"key {key[:16]} is revoked as compromised, so nothing that it signed counts", hint="judge it again")
        if at >= when:
            raise SignatureError(f"key {key[:16]} was revoked on {written(when)}, before this statement ({written(at)})")


def one_key(public: Ed25519PublicKey, source: str) -> Trust:
    """Trust exactly one key, for everything and always."""
    row = Trusted(public=public, name="", start=None, end=None, signs=PURPOSES)
    return Trust(keys={key_id(public): row}, revoked={}, identities=(), source=source)


def read_trust(data: bytes, source: str) -> Trust:
    """Read a file of trusted keys.

    Raises:
        SignatureError: it is not of the documented form; the message names the row.
    """
    import tomllib  # noqa: PLC0415 - not where one key is trusted

    if len(data) > LIMIT_B:
        raise SignatureError(f"the file of trusted keys is longer than {LIMIT_B} bytes", where=source)
    try:
        table = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise SignatureError(f"the file of trusted keys is not TOML: {error}", where=source, hint=_HINT) from error
    place = ["the top"]
    try:
        return _trust(table, source, place)
    except (ValueError, TypeError, KeyError) as error:
        what = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        told = f"the file of trusted keys is not of the documented form: {what}"
        raise SignatureError(told, where=f"{place[0]} of {source}", hint=_HINT) from error


def _trust(table: Mapping[str, Any], source: str, place: list[str]) -> Trust:
    """``place`` says in its one element which row is being read."""
    _known(table, {"schema", "key", "revoked", "identity"})
    if table.get("schema") != 1 or isinstance(table["schema"], bool):
        raise ValueError("schema must be 1")
    keys: dict[str, Trusted] = {}
    for number, entry in enumerate(_rows(table, "key"), 1):
        place[0] = f"[[key]] number {number}"
        name, trusted = _key(entry)
        if name in keys:
            raise ValueError("the key stands in the file twice")
        keys[name] = trusted
    revoked: dict[str, tuple[int, str]] = {}
    for number, entry in enumerate(_rows(table, "revoked"), 1):
        place[0] = f"[[revoked]] number {number}"
        name, when, reason = _revocation(entry, keys)
        before = revoked.get(name, (when, reason))
        revoked[name] = (min(when, before[0]), max(reason, before[1], key=REASONS.index))
    identities = []
    for number, entry in enumerate(_rows(table, "identity"), 1):
        place[0] = f"[[identity]] number {number}"
        identities.append(_identity(entry))
    return Trust(keys=keys, revoked=revoked, identities=tuple(identities), source=source)


def key_row(public: Ed25519PublicKey, *, name: str, start: int, end: int | None, signs: tuple[str, ...] = PURPOSES) -> str:
    """The text of one ``[[key]]`` row, to be appended to a file of trusted keys."""
    import binascii  # noqa: PLC0415
    import json  # noqa: PLC0415

    lines = ["[[key]]", f"name = {json.dumps(name)}", f'id = "{key_id(public)}"']
    lines.append(f'public = "{binascii.b2a_base64(public.public_bytes_raw(), newline=False).decode()}"')
    lines.append(f"from = {written(start)}")
    if end is not None:
        lines.append(f"until = {written(end)}")
    if signs != PURPOSES:
        lines.append(f"signs = {json.dumps(list(signs))}")
    return "\n".join(lines) + "\n"


def revoked_row(key: str, *, at: int, reason: str) -> str:
    """The text of one ``[[revoked]]`` row."""
    return f'[[revoked]]\nid = "{key}"\nat = {written(at)}\nreason = "{reason}"\n'


def _check_span(who: str, row: Trusted | Identity, purpose: str, at: int) -> None:
    if purpose not in row.signs:
        raise SignatureError(f"{who} is not trusted to sign {purpose}, only {', '.join(row.signs)}")
    if row.start is not None and at < row.start:
        raise SignatureError(f"{who} was not valid yet at {written(at)}; it is from {written(row.start)}")
    if row.end is not None and at >= row.end:
        raise SignatureError(f"{who} was no longer valid at {written(at)}; it was until {written(row.end)}")


def _key(entry: Mapping[str, Any]) -> tuple[str, Trusted]:
    _known(entry, {"name", "id", "public", "from", "until", "signs"})
    try:
        public = public_of_raw(plain_base64(entry["public"], "public key"))
    except SignatureError as error:
        raise ValueError(error.message) from error
    if entry["id"] != key_id(public):
        raise ValueError(f"id is not that of the public key, which is {key_id(public)}")
    start, end, signs = _span(entry)
    return key_id(public), Trusted(public=public, name=_text(entry.get("name", ""), "name"), start=start, end=end, signs=signs)


def _identity(entry: Mapping[str, Any]) -> Identity:
    _known(entry, {"issuer", "subject", "from", "until", "signs"})
    start, end, signs = _span(entry)
    issuer, subject = _text(entry["issuer"], "issuer"), _text(entry["subject"], "subject")
    if not issuer or not subject:
        raise ValueError("issuer and subject must not be empty")
    return Identity(issuer=issuer, subject=subject, start=start, end=end, signs=signs)


def _revocation(entry: Mapping[str, Any], keys: Mapping[str, Trusted]) -> tuple[str, int, str]:
    _known(entry, {"id", "at", "reason"})
    if entry["id"] not in keys:
        raise ValueError(f"no [[key]] has the id {entry['id']!r}")
    if entry["reason"] not in REASONS:
        raise ValueError(f"reason must be one of {', '.join(REASONS)}")
    return entry["id"], _seconds(entry["at"], "at"), entry["reason"]


def _span(entry: Mapping[str, Any]) -> tuple[int | None, int | None, tuple[str, ...]]:
    start = _seconds(entry["from"], "from")
    end = _seconds(entry["until"], "until") if "until" in entry else None
    if end is not None and end <= start:
        raise ValueError("until must be after from")
    signs = entry.get("signs", list(PURPOSES))
    if not isinstance(signs, list) or not signs or not all(word in PURPOSES for word in signs):
        raise ValueError(f"signs must be a list out of {', '.join(PURPOSES)}")
    return start, end, tuple(signs)


def _seconds(value: Any, name: str) -> int:
    """A TOML date and time with an offset; one without would mean another moment on each host."""
    if getattr(value, "tzinfo", None) is None:
        raise ValueError(f"{name} must be a date and time with an offset, like 2026-12-01T00:00:00Z")
    return read(written(value.timestamp()))


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or any(ord(char) < 32 for char in value):  # noqa: PLR2004 - control characters
        raise ValueError(f"{name} must be text on one line")
    return value


def _rows(table: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    rows = table.get(name, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"[[{name}]] must be rows")
    return rows


def _known(entry: Mapping[str, Any], names: set[str]) -> None:
    unknown = sorted(set(entry) - names)
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}; known are {', '.join(sorted(names))}")
