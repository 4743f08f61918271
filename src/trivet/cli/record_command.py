"""Run tests with the network and keep their HTTP exchanges under the sealed fixtures, without secrets; then seal them.

In a scored run the recordings are replayed: the wall stays closed, and a request without a recording fails its test and is named.
Recording needs vcrpy in the project's interpreter; replaying needs nothing. The tests run unwalled, with your environment, as pytest would.
The recordings are an oracle change: an owner sends them, without production code. Look at them before you do.

Examples:
  trivet record -- pytest tests/sealed/test_rates.py
"""

from __future__ import annotations

import argparse
from pathlib import Path

from trivet.cli import Door, output
from trivet.errors import UsageError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the work tree (default: the current folder)")
    parser.add_argument("--python", metavar="EXE", help="the project's interpreter (default: the policy's)")
    parser.add_argument("command", nargs="+", metavar="-- pytest ARGUMENT", help="pytest and its arguments, after `--`")


def run(args: argparse.Namespace, door: Door) -> int:
    """Record and seal."""
    from trivet.recording import record  # noqa: PLC0415 - loaded when it runs

    if args.command[0] not in ("pytest", "py.test"):
        raise UsageError(f"only pytest can be recorded, not {args.command[0]!r}", hint="trivet record -- pytest tests/sealed/test_x.py")
    python = None if args.python is None else str(door.cwd / args.python)
    done = record(door.cwd / args.repo, args.command[1:], python=python, environ=door.environ)
    if done.status:
        output.say(f"pytest ended with {done.status}: nothing was kept\n")
        return 1
    lines = [f"recorded  {name}" for name in done.wrote] + [f"removed   {name}" for name in done.removed]
    lines += [f"sealed    {name}" for name in done.manifests]
    output.say("\n".join([*lines, f"{len(done.wrote)} recordings"]) + "\n")
    return 0
