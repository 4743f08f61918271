"""Make, show, trust, rotate and revoke signing keys (Ed25519).

`new --out PREFIX` writes PREFIX (the private key, readable by its owner alone) and PREFIX.pub. Keep the private key out of the
repository, out of the environment, and out of reach of the code that is judged.
`show FILE` prints the id of a public or private key, or who is trusted by a file of trusted keys.
`trust PUB --keys FILE` appends a key to a file of trusted keys (ci/trivet_keys.toml), which base then trusts once it is merged.
`rotate OLD --out PREFIX --keys FILE` makes a new key, trusts it from now on, and lets OLD (its id or .pub) end after --overlap days.
`revoke OLD --keys FILE` ends a key now; with --compromised nothing that it ever signed counts.
Rows are only appended: nothing that a key signed becomes unexplainable.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from trivet.attest.keys import key_id, load_private, load_public, new_key
from trivet.attest.times import written
from trivet.attest.trust import PURPOSES, Trust, key_row, read_trust, revoked_row
from trivet.cli import Door
from trivet.errors import UsageError
from trivet.verifying import read_file

_DAY_S = 86_400
_MOST_DAYS = 36_500
_HEADER = """\
# Whose signatures on verdicts count. Rows are only appended; docs/signing.md of trivet says what they mean.
schema = 1
"""

INTERMIXED = True


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("action", choices=("new", "show", "trust", "rotate", "revoke"), help="what to do")
    parser.add_argument("file", nargs="?", metavar="FILE|ID", help="the key: a file, or for rotate and revoke its id")
    parser.add_argument("--out", metavar="PREFIX", help="where `new` and `rotate` write: PREFIX and PREFIX.pub")
    parser.add_argument("--keys", metavar="FILE", help="the file of trusted keys to append to; made if need be")
    parser.add_argument("--name", default="", help="a name for the key, for people")
    parser.add_argument("--days", type=float, metavar="N", help="how long the trusted key is valid (default: without end)")
    parser.add_argument("--signs", metavar="WHAT", help=f"what the key may sign, separated by commas (default: all): {', '.join(PURPOSES)}")
    parser.add_argument("--overlap", type=float, default=0.0, metavar="DAYS", help="how long the old key still counts after `rotate`")
    parser.add_argument("--compromised", action="store_true", help="somebody else may hold the old key: nothing that it signed counts")


def run(args: argparse.Namespace, door: Door) -> int:
    """Do one of the actions."""
    actions = {"new": _new, "show": _show, "trust": _trust, "rotate": _rotate, "revoke": _revoke}
    for name in ("days", "overlap"):
        value = getattr(args, name)
        if value is not None and not 0 <= value <= _MOST_DAYS:
            raise UsageError(f"--{name} takes a number of days from 0 to {_MOST_DAYS}")
    actions[args.action](args, door)
    return 0


def _new(args: argparse.Namespace, door: Door) -> None:
    if not args.out or args.file:
        raise UsageError("`key new` needs --out PREFIX and no FILE", hint="for example: trivet key new --out gate-key")
    private, public = new_key(door.cwd / args.out)
    sys.stdout.write(f"{key_id(load_public(public))}\n")
    sys.stderr.write(f"wrote {private} (keep it secret) and {public} (give it to whoever verifies)\n")
    if args.keys:
        _append(door.cwd / args.keys, [_row(args, door, public)])


def _show(args: argparse.Namespace, door: Door) -> None:
    if not args.file or args.out:
        raise UsageError("`key show` needs FILE and nothing else")
    path: Path = door.cwd / args.file
    if path.suffix == ".toml":
        sys.stdout.write(_table(read_trust(read_file(str(path)), args.file), door.now))
        return
    name = args.file if args.file.startswith("fd:") else str(path)
    public_key = load_public(path) if path.suffix == ".pub" else load_private(name).public_key()
    sys.stdout.write(f"{key_id(public_key)}\n")


def _trust(args: argparse.Namespace, door: Door) -> None:
    if not args.file or not args.keys or args.out:
        raise UsageError("`key trust` needs PUB and --keys FILE", hint="such as: trivet key trust gate.pub --keys ci/trivet_keys.toml")
    _append(door.cwd / args.keys, [_row(args, door, door.cwd / args.file)])


def _rotate(args: argparse.Namespace, door: Door) -> None:
    if not args.file or not args.keys or not args.out:
        raise UsageError("`key rotate` needs OLD, --out PREFIX and --keys FILE", hint="see `trivet key --help`")
    keys = door.cwd / args.keys
    old = _old(args, door, keys)
    end = revoked_row(old, at=int(door.now + args.overlap * _DAY_S), reason="compromised" if args.compromised else "rotated")
    private, public = new_key(door.cwd / args.out)
    _append(keys, [_row(args, door, public), end])
    sys.stdout.write(f"{key_id(load_public(public))}\n")
    sys.stderr.write(f"wrote {private} (keep it secret) and {public}; sign with it once base has the changed {args.keys}\n")


def _revoke(args: argparse.Namespace, door: Door) -> None:
    if not args.file or not args.keys or args.out:
        raise UsageError("`key revoke` needs OLD and --keys FILE", hint="see `trivet key --help`")
    keys = door.cwd / args.keys
    old = _old(args, door, keys)
    _append(keys, [revoked_row(old, at=int(door.now), reason="compromised" if args.compromised else "rotated")])


def _old(args: argparse.Namespace, door: Door, keys: Path) -> str:
    """The id of the key that ends; it must stand in the file."""
    trust = read_trust(read_file(str(keys)), args.keys)
    path = door.cwd / args.file
    wanted = key_id(load_public(path)) if path.is_file() else args.file
    found = [name for name in trust.keys if name.startswith(wanted)]
    if len(found) != 1:
        raise UsageError(f"no key {wanted[:16]!r} in this file" if not found else f"{wanted!r} begins several key ids", where=args.keys)
    return found[0]


def _row(args: argparse.Namespace, door: Door, public: Path) -> str:
    signs = PURPOSES if args.signs is None else tuple(args.signs.split(","))
    if not set(signs) <= set(PURPOSES):
        raise UsageError(f"--signs takes {', '.join(PURPOSES)}, separated by commas")
    end = None if args.days is None else int(door.now + args.days * _DAY_S)
    return key_row(load_public(public), name=args.name or public.stem, start=int(door.now), end=end, signs=signs)


def _append(keys: Path, rows: list[str]) -> None:
    """Append rows, if the whole is then still a file of trusted keys; written to a temporary name and renamed."""
    from trivet.report import files  # noqa: PLC0415

    before = read_file(str(keys)).decode("utf-8", "strict") if os.path.lexists(keys) else _HEADER
    text = before.rstrip("\n") + "\n" + "".join(f"\n{row}" for row in rows)
    trust = read_trust(text.encode(), str(keys))
    try:
        keys.parent.mkdir(parents=True, exist_ok=True)
        files.replace(keys, text.encode())
    except OSError as error:
        raise UsageError(f"the file of trusted keys cannot be written: {error.strerror or error}", where=str(keys)) from error
    sys.stderr.write(f"{keys} now names {len(trust.keys)} keys, {len(trust.revoked)} of them revoked; it counts once base has it\n")


def _table(trust: Trust, now: float) -> str:
    rows = []
    for name, row in trust.keys.items():
        at, reason = trust.revoked.get(name, (None, ""))
        state = "valid"
        if reason == "compromised":
            state = "revoked as compromised"
        elif at is not None:
            state = f"{'revoked' if at <= now else 'ends'} {written(at)}"
        elif row.start is not None and now < row.start:
            state = f"from {written(row.start)}"
        elif row.end is not None:
            state = f"{'until' if now < row.end else 'ended'} {written(row.end)}"
        rows.append(f"{name}  {state}  {_purposes(row.signs)}  {row.name}\n")
    rows += [f"identity {row.subject} of {row.issuer}  {_purposes(row.signs)}\n" for row in trust.identities]
    return "".join(rows) or "no key is trusted\n"


def _purposes(signs: tuple[str, ...]) -> str:
    return "all" if signs == PURPOSES else ",".join(signs)
