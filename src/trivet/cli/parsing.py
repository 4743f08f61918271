"""The parser of one command: argparse, with our way of saying that a call is wrong."""

from __future__ import annotations

import argparse
from typing import NoReturn

from trivet.errors import UsageError


class Parser(argparse.ArgumentParser):
    """A parser that raises ``UsageError`` instead of printing and leaving, and never guesses an abbreviated option."""

    _telling = False

    def __init__(self, name: str, *, description: str | None, epilog: str) -> None:
        super().__init__(
            prog=f"trivet {name}",
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

        self._telling = False

    def _get_formatter(self) -> argparse.HelpFormatter:
        """Argparse tries each option with a formatter, which asks the terminal for its width, which loads the compressors of shutil."""
        return argparse.RawDescriptionHelpFormatter(prog=self.prog, width=None if self._telling else 80)

    def format_help(self) -> str:
        """The text of ``--help``, as wide as the terminal is."""
        self._telling = True
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the call.

        Raises:
            UsageError: always.
        """
        raise UsageError(message, hint=f"see `{self.prog} --help`")
