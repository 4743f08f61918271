"""The parser of one command: argparse, with our way of saying that a call is wrong."""

from __future__ import annotations

import argparse
from typing import NoReturn

from trivet.errors import UsageError


class Parser(argparse.ArgumentParser):
    """A parser that raises ``UsageError`` instead of printing and leaving, and never guesses an abbreviated option."""

    def __init__(self, name: str, *, description: str | None, epilog: str) -> None:
        super().__init__(
            prog=f"trivet {name}",
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the call.

        Raises:
            UsageError: always.
        """
        raise UsageError(message, hint=f"see `{self.prog} --help`")
