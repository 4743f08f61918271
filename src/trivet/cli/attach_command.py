"""Put signed verdicts beside the commit that they are about, in the repository: the one command that writes there.

FILE is an envelope, DIR a folder of them (ci_out). They go to the note of the judged head under refs/notes/trivet, or with --beside to
refs/trivet/COMMIT. `trivet verify --repo DIR` finds them. Nothing is pushed: `git push REMOTE refs/notes/trivet` does that.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trivet.cli import Door, trusting
from trivet.errors import SignatureError, UsageError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("path", metavar="FILE|DIR", help="decision.dsse.json, or the folder that holds the envelopes")
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the repository (default: here)")
    parser.add_argument("--beside", action="store_true", help="write refs/trivet/COMMIT instead of a note")
    trusting.arguments(parser)


def run(args: argparse.Namespace, door: Door) -> int:
    """Attach; only what is signed by a trusted key, and about a commit of this repository."""
    from trivet.attaching import BESIDE, NOTES, Carrier, envelope_files  # noqa: PLC0415 - heavy rooms load when they are needed
    from trivet.git import open_repository  # noqa: PLC0415
    from trivet.verifying import opened, subject_of  # noqa: PLC0415

    path = door.cwd / args.path
    if not path.exists():
        raise UsageError("no such file or folder", where=args.path)
    with open_repository(door.cwd / args.repo) as repository:
        trust = trusting.trust_of(args, door, repository)
        files = envelope_files(path)
        heads = {subject_of(opened(data, trust, trusting.root_of(args, door)), repository) for data in files.values()}
        if len(heads) != 1:
            raise SignatureError("the envelopes are about different commits", where=args.path, hint="attach them one by one")
        head = heads.pop()
        carrier = Carrier(repository)
        count = (
            carrier.attach_beside(head, files, now=door.now) if args.beside else carrier.attach_note(head, files.values(), now=door.now)
        )
    ref = f"{BESIDE}/{head}" if args.beside else NOTES
    sys.stdout.write(f"{head}\n")
    sys.stderr.write(f"{count} of {len(files)} envelopes added to {ref}; `git push REMOTE {ref}` hands them on\n")
    return 0
