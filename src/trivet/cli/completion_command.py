"""Print a completion script for a shell.

bash: trivet completion bash > ~/.local/share/bash-completion/completions/trivet
zsh:  trivet completion zsh > a folder of $fpath, as _trivet
tcsh: trivet completion tcsh, sourced from ~/.tcshrc
"""

from __future__ import annotations

import argparse
import importlib.util
import sys

from trivet.cli import Door, load
from trivet.cli.table import COMMANDS


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell to write for")


def run(args: argparse.Namespace, door: Door) -> int:
    """Build the whole parser once and let shtab write the script."""
    del door
    import shtab  # noqa: PLC0415 - only here

    sys.stdout.write(shtab.complete(whole_parser(), shell=args.shell) + "\n")
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """One parser with every command that this installation has."""
    parser = argparse.ArgumentParser(prog="trivet", description="The merge gate for patches that coding agents write")
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND")
    for name, text in COMMANDS.items():
        if importlib.util.find_spec("trivet.cli." + name.replace("-", "_") + "_command") is None:
            continue
        module = load(name)
        module.arguments(commands.add_parser(name, help=text, description=module.__doc__))
    return parser
