"""Run the scoring service: agents ask for scores of commits, and cannot touch what judges them.

One command and one file; the store is SQLite in store.data unless the settings name PostgreSQL. `--example` prints a file to begin with.
SIGTERM drains: nothing new is taken, what runs may end, the rest goes on at the next start.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trivet.cli import Door
from trivet.cli.extras import service_extra
from trivet.errors import UsageError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    settings_arguments(parser)
    parser.add_argument("--host", metavar="ADDRESS", help="where to listen (default: server.host)")
    parser.add_argument("--port", type=int, metavar="N", help="port; 0 for any free one (default: server.port)")
    parser.add_argument("--example", action="store_true", help="print a service.toml to begin with, and end")


def settings_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what every command of the service needs."""
    parser.add_argument(
        "--config", type=Path, default=Path("service.toml"), metavar="FILE", help="settings of the service (default: %(default)s)"
    )


def run(args: argparse.Namespace, door: Door) -> int:
    """Serve until told to stop."""
    with service_extra():
        from trivet.service import serving  # noqa: PLC0415 - heavy, and an extra
        from trivet.service.settings import read_settings, with_server  # noqa: PLC0415
    if args.example:
        sys.stdout.write(serving.example(Path("trivet-data")))
        return 0
    if args.port is not None and not 0 <= args.port <= 65_535:  # noqa: PLR2004
        raise UsageError("--port takes a number from 0 to 65535")
    settings = with_server(read_settings(door.cwd / args.config), host=args.host, port=args.port)

    def ready(address: str) -> None:
        sys.stderr.write(f"trivet serves on {address}\n")
        sys.stderr.flush()

    status = serving.serve(settings, ready=ready)
    serving.leave(status)
    return status
