"""Judge one leg, for a separate CI job: writes the files of that leg only; `trivet join DIR` ANDs them.

A job that judges flake-lease has to run the sealed tests, as src-score does; with a shared cache the second of them finds the run done.
"""

from __future__ import annotations

import argparse

from trivet.cli import Door, gate_command
from trivet.model import LEGS


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``trivet verdict``."""
    parser.add_argument("leg", choices=LEGS, metavar="NAME", help="src-score, oracle-integrity or flake-lease")
    gate_command.arguments(parser)


def run(args: argparse.Namespace, door: Door) -> int:
    """Judge one leg; the exit status is that of its verdict."""
    return gate_command.judge_and_tell(args, door, (args.leg,))


def forget(argv: list[str], door: Door) -> None:
    """Clear the words of the named leg, or all of them when the call names none."""
    legs = tuple(leg for leg in LEGS if leg in argv)
    gate_command.forget(argv, door, legs or LEGS)
