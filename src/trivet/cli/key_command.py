"""Make and show signing keys (Ed25519).

`key new --out PREFIX` writes PREFIX (the private key, readable by its owner alone) and PREFIX.pub. Keep the private key out of the
repository and out of reach of the code that is judged. `key show FILE` prints the id of a public or private key.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trivet.attest_key import key_id, load_private, load_public, new_key
from trivet.cli import Door
from trivet.errors import UsageError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("action", choices=("new", "show"), help="new: write a key pair; show: print the id of a key")
    parser.add_argument("file", nargs="?", metavar="FILE", help="the key to show")
    parser.add_argument("--out", metavar="PREFIX", help="where `new` writes: PREFIX and PREFIX.pub")


def run(args: argparse.Namespace, door: Door) -> int:
    """Write or show a key."""
    if args.action == "new":
        if not args.out or args.file:
            raise UsageError("`key new` needs --out PREFIX and nothing else", hint="for example: trivet key new --out gate-key")
        private, public = new_key(door.cwd / args.out)
        sys.stdout.write(f"{key_id(load_public(public))}\n")
        sys.stderr.write(f"wrote {private} (keep it secret) and {public} (give it to whoever verifies)\n")
        return 0
    if not args.file or args.out:
        raise UsageError("`key show` needs FILE and nothing else")
    path: Path = door.cwd / args.file
    public_key = load_public(path) if path.suffix == ".pub" else load_private(str(path)).public_key()
    sys.stdout.write(f"{key_id(public_key)}\n")
    return 0
