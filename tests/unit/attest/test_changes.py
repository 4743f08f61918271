"""Ten thousand changes of envelopes, statements, keys and logs (``TRIVET_LONG=1``; fewer in the suite): each is refused for its own reason.

The reason that must be given is worked out here from the changed bytes, step by step as the formats are documented, not taken from the
code under test.
"""

from __future__ import annotations

import base64
import binascii
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trivet.attest import PAYLOAD_TYPE
from trivet.attest.envelope import canonical, sign
from trivet.attest.keys import key_id, load_public, public_pem
from trivet.attest.log import Log, verdict_entry
from trivet.attest.trust import key_row, one_key, read_trust
from trivet.cli.log_command import arguments, run
from trivet.errors import SignatureError
from trivet.verifying import Wanted, answer
from unit.attest.counts import count
from unit.attest.made import KEY, NOW, OTHER, document, envelope, random_document, statement, trust

Reason = str
DATA = envelope()


def refused(data: bytes) -> Reason:
    """Why an envelope is refused; fails where it is not."""
    with pytest.raises(SignatureError) as caught:
        answer(data, trust(), Wanted(), now=NOW)
    return caught.value.message


def expected(data: bytes) -> Reason:  # noqa: PLR0911 - one step, one reason
    """The reason that the documentation gives for a changed envelope, by the order of its steps."""
    try:
        value = json.loads(data.decode(), object_pairs_hook=_once)
    except ValueError:
        return "is not strict JSON"
    if set(value) != {"payload", "payloadType", "signatures"}:
        return "exactly payload, payloadType and signatures"
    if value["payloadType"] != PAYLOAD_TYPE:
        return "the payload type is"
    if not _plain(value["payload"]):
        return "the payload is not"
    if not value["signatures"]:
        return "is not signed"
    if len(value["signatures"]) != 1:
        return "more than one signature"
    row = value["signatures"][0]
    if set(row) != {"keyid", "sig"}:
        return "exactly keyid and sig"
    if not _plain(row["sig"]):
        return "the signature is not"
    if row["keyid"] != key_id(KEY.public_key()):
        return "signed by key"
    return "does not belong to this payload and key"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("twice")
    return dict(pairs)


def _plain(text: Any) -> bool:
    try:
        return isinstance(text, str) and text != "" and base64.b64encode(base64.b64decode(text, validate=True)).decode() == text
    except (binascii.Error, ValueError):
        return False


def flipped(data: bytes, place: int) -> bytes:
    """One bit changed."""
    changed = bytearray(data)
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


def test_every_changed_bit_of_an_envelope_is_refused() -> None:
    """Whatever bit it is, wherever it lies; the last three hundred bytes hold key id and signature."""
    dice = random.Random(7)
    places = [dice.randrange(len(DATA) * 8) for _ in range(count(500, 3000))]
    places += [dice.randrange((len(DATA) - 300) * 8, len(DATA) * 8) for _ in range(count(200, 1000))]
    for place in places:
        assert expected(flipped(DATA, place)) in refused(flipped(DATA, place)), place


ROWS: list[Callable[[dict[str, Any], random.Random], object]] = [
    lambda e, _: e.update(payloadType="text/plain"),
    lambda e, _: e.update(signatures=[]),
    lambda e, _: e["signatures"].append(e["signatures"][0]),
    lambda e, _: e["signatures"][0].update(extra=1),
    lambda e, _: e["signatures"][0].pop("sig"),
    lambda e, dice: e["signatures"][0].update(keyid=dice.randbytes(32).hex()),
    lambda e, _: e.update(more=1),
    lambda e, _: e.pop("payload"),
    lambda e, _: e.update(payload=e["payload"] + "\n"),
    lambda e, _: e.update(payload=7),
    lambda e, dice: e.update(payload=base64.b64encode(dice.randbytes(40)).decode()),
    lambda e, dice: e["signatures"][0].update(sig=base64.b64encode(dice.randbytes(64)).decode()),
    lambda e, dice: e["signatures"][0].update(sig=base64.b64encode(dice.randbytes(63)).decode()),
    lambda e, _: e["signatures"][0].update(sig=e["signatures"][0]["sig"].rstrip("=")),
    lambda e, dice: e.update(payload=base64.b64encode(canonical(statement(random_document(dice)))).decode()),
]


def test_every_changed_field_of_an_envelope_is_refused() -> None:
    """Each kind of change has its own reason."""
    dice = random.Random(8)
    for number in range(count(150, 1500)):
        changed = json.loads(DATA)
        ROWS[number % len(ROWS)](changed, dice)
        data = json.dumps(changed).encode()
        assert expected(data) in refused(data), number


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all plain values in JSON data."""
    if isinstance(value, dict):
        return [row for key, part in value.items() for row in leaves(part, (*path, key))]
    if isinstance(value, list) and value:
        return [row for number, part in enumerate(value) for row in leaves(part, (*path, number))]
    return [path]


def another(value: Any, dice: random.Random) -> Any:
    """A value of the same kind that is not this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + dice.randrange(1, 9)
    if isinstance(value, str) and re.fullmatch("[0-9a-f]{40,64}", value):
        return dice.randbytes(len(value) // 2).hex()
    return {"PASS": "FAIL", "FAIL": "PASS", "PASSED": "FAILED"}.get(value, f"{value}x") if isinstance(value, str) else ["x"]


def test_every_changed_field_of_a_statement_is_refused_without_the_key() -> None:
    """A payload that was not signed is never read; one that another key signed is that key's."""
    dice = random.Random(9)
    for _ in range(count(200, 1500)):
        made = statement(document(src_score=dice.choice(("PASS", "FAIL"))))
        path = dice.choice(leaves(made))
        inner = made
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = another(inner[path[-1]], dice)
        changed = json.loads(DATA) | {"payload": base64.b64encode(canonical(made)).decode()}
        assert "does not belong to this payload and key" in refused(json.dumps(changed).encode()), path
        assert "signed by key" in refused(sign(made, OTHER)), path


BINDING = ("commit", "tree", "gitCommit", "gitTree", "digest", "sha256", "repository", "session", "status", "merge", "_type", "predicateType", "result")


def test_every_changed_binding_of_a_statement_is_refused_even_with_the_key() -> None:
    """What binds a statement to its judgement stands in it more than once: one place alone cannot be changed."""
    dice = random.Random(10)
    for _ in range(count(200, 1500)):
        made = statement(document(src_score=dice.choice(("PASS", "FAIL"))))
        paths = [path for path in leaves(made) if path[-1] in BINDING]
        path = dice.choice(paths)
        inner = made
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = another(inner[path[-1]], dice)
        told = refused(sign(made, KEY))
        reasons = ("contradicts", "differs", "documented form", "no joined decision", "no in-toto Statement", "no test result", "says", "names failed rules")
        assert any(reason in told for reason in reasons), (path, told)


def test_every_changed_bit_of_a_public_key_file_is_refused(tmp_path: Path) -> None:
    """It is no longer the plain form of a key, or it is that of another."""
    pem = public_pem(KEY.public_key())
    body = range(pem.index(b"\n") + 1, pem.rindex(b"\n-----END"))
    path = tmp_path / "k.pub"
    dice = random.Random(11)
    for place in dice.sample(range(len(pem.strip()) * 8), count(250, 800)):
        path.write_bytes(flipped(pem, place))
        with pytest.raises(SignatureError) as caught:
            answer(DATA, one_key(load_public(path), "test"), Wanted(), now=NOW)
        told = caught.value.message
        assert "plain PEM form" in told or (place // 8 in body and "signed by key" in told), (place, told)


def test_every_changed_digit_of_a_trusted_key_is_refused() -> None:
    """Id and key vouch for each other."""
    text = "schema = 1\n" + key_row(KEY.public_key(), name="gate", start=0, end=None)
    dice = random.Random(12)
    for name in ("id", "public"):
        value = re.search(rf'{name} = "([^"]+)"', text)
        assert value
        for _ in range(count(60, 400)):
            place = dice.randrange(value.start(1) * 8, value.end(1) * 8)
            with pytest.raises(SignatureError, match=r"not of the documented form|is not TOML"):
                read_trust(flipped(text.encode(), place), "keys.toml")


def rewritten(lines: list[bytes], dice: random.Random) -> tuple[str, list[bytes]]:
    """A log after one change that is more than a bit, and what it is called."""
    lines = list(lines)
    place = dice.randrange(len(lines))
    kind = dice.choice(("drop", "swap", "double", "field", "cut", "rechain"))
    if kind == "drop":
        del lines[place]
    elif kind == "swap":
        other = (place + 1) % len(lines)
        lines[place], lines[other] = lines[other], lines[place]
    elif kind == "double":
        lines.insert(place, lines[place])
    elif kind == "cut":
        del lines[place:]
    else:
        entry = json.loads(lines[place])
        entry["head"] = dice.randbytes(20).hex()
        lines[place] = json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()
        if kind == "rechain":  # the attacker mends the chain of digests behind the change
            import hashlib

            for number in range(place + 1, len(lines)):
                entry = json.loads(lines[number])
                entry["previous"] = hashlib.sha256(lines[number - 1]).hexdigest()
                lines[number] = json.dumps(entry, sort_keys=True, separators=(",", ":")).encode()
    return kind, lines


def test_every_change_of_a_log_is_seen_by_whoever_kept_a_head(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bits, lines, and even a log that was mended after the change."""
    path, pub, point = tmp_path / "log", tmp_path / "k.pub", tmp_path / "point"
    found = answer(DATA, trust(), Wanted(), now=NOW)
    for number in range(12):
        Log(path).append(verdict_entry(DATA + b" " * number, found.facts, merge=True, key=found.key), now=NOW + number)
    pub.write_bytes(public_pem(KEY.public_key()))
    head = Log(path).head()
    from trivet.attest.checkpoint import Checkpoint, signed

    point.write_bytes(signed(Checkpoint(origin="trivet-log", size=head.size, root=head.root), KEY))
    good = path.read_bytes()
    assert checked(path, point, pub) == 0
    dice = random.Random(13)
    for _ in range(count(150, 900)):
        place = dice.randrange(len(good) * 8)
        path.write_bytes(flipped(good, place))
        assert checked(path, point, pub) == 1, place
        last = place // 8 >= good.rindex(b"\n", 0, -1)
        told = capsys.readouterr().err
        allowed = ("documented form", "chain of the log is broken", "goes back in time", *(("rewritten", "torn") if last else ()))
        assert any(reason in told for reason in allowed), (place, told)
    reasons = {
        "drop": "documented form|was cut", "swap": "documented form", "double": "documented form", "cut": "was cut",
        "field": "chain of the log is broken|rewritten", "rechain": "rewritten",
    }  # fmt: skip
    for _ in range(count(60, 400)):
        kind, lines = rewritten(good.splitlines(), dice)
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        assert checked(path, point, pub) == 1, kind
        assert re.search(reasons[kind], capsys.readouterr().err), kind


def checked(path: Path, point: Path, pub: Path) -> int:
    """The exit status of ``trivet log check`` against a kept head."""
    import argparse

    from trivet.cli import Door

    parser = argparse.ArgumentParser()
    arguments(parser)
    args = parser.parse_args(["check", "--log", str(path), "--checkpoint", str(point), "--log-key", str(pub)])
    return run(args, Door(now=NOW, environ={}, cwd=path.parent))
