"""Entry point: ``python -m trivet`` and the ``trivet`` command."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command line and exit with its status."""
    from trivet.cli import main  # noqa: PLC0415 - keeps `python -m trivet` start-up in one place

    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
