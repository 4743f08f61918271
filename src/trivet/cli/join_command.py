"""AND the verdict files of one change, as separate CI jobs wrote them.

A leg whose files are missing was not run, which blocks. Files about different commits or policies are refused. The decision, the
summary and the JUnit file are written beside the verdict files.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from trivet.cli import Door, output


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("folder", metavar="DIR", type=Path, help="the folder that holds the verdict files")
    parser.add_argument("--base", default="", metavar="OID", help="refuse verdicts that are not about this base commit")
    parser.add_argument("--head", default="", metavar="OID", help="refuse verdicts that are not about this head commit")
    parser.add_argument("--key", type=Path, metavar="PUB", help="refuse verdicts that are not signed by the key with this public half")
    output.arguments(parser)


def run(args: argparse.Namespace, door: Door) -> int:
    """Join and tell."""
    from trivet.joining import join_folder  # noqa: PLC0415 - after the arguments are known to be good
    from trivet.report import files  # noqa: PLC0415

    output.reports(args)
    folder = door.cwd / args.folder
    for name in files.WHOLE:
        (folder / name).unlink(missing_ok=True)
    decision = join_folder(folder, base=args.base, head=args.head, key=None if args.key is None else door.cwd / args.key)
    files.write(decision, folder)
    return output.show(decision, args, door)
