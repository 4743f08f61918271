"""The lease ledger: dated permissions for sealed tests to be skipped or to fail as expected.

A lease is bound to the digest of the test's code and to the way in which it fails; when it ends, the test counts again. Every change of
the ledger is an oracle change: an owner sends it, without production code.

Examples:
  trivet lease adopt --owner @quality --days 60           give every skip that stands today a dated lease
  trivet lease add tests/sealed/test_a.py::test_b --owner @quality --reason "race in the driver" --days 14
  trivet lease list
  trivet lease digest tests/sealed/test_a.py test_b       print what belongs into bytecode_hash
"""

from __future__ import annotations

import argparse
from pathlib import Path

from trivet.cli import Door, output


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    digest = verbs.add_parser("digest", help="print the digest of a test, and nothing else")
    digest.add_argument("file", metavar="FILE", help="the test file, relative to the current folder")
    digest.add_argument("function", metavar="FUNCTION", help="`name` or `Class.name`")
    digest.add_argument("--source", action="store_true", help="print the digest of the syntax tree instead (`source_hash`)")
    digest.add_argument("--weak", action="store_true", help="print the legacy form instead (16 digits of co_code)")


def run(args: argparse.Namespace, door: Door) -> int:
    """Do what the verb says."""
    return {"digest": _digest}[args.verb](args, door)


def _digest(args: argparse.Namespace, door: Door) -> int:
    from trivet.leasing.digests import digest  # noqa: PLC0415 - only this verb needs it

    found = digest(door.cwd, args.file, args.function)
    output.say((found.weak if args.weak else found.source_hash if args.source else found.strong) + "\n")
    return 0
