"""Judge for a scoring service: take scores from its queue until told to stop.

Any number of workers on any number of machines share one PostgreSQL store. A worker that is killed loses nothing: what it had begun is
taken up by another one.
"""

from __future__ import annotations

import argparse
import sys

from trivet.cli import Door
from trivet.cli.extras import service_extra
from trivet.cli.serve_command import settings_arguments


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    settings_arguments(parser)
    parser.add_argument("--name", default="", metavar="NAME", help="of this worker; no two may share one (default: host, process, chance)")


def run(args: argparse.Namespace, door: Door) -> int:
    """Judge until told to stop."""
    with service_extra():
        from trivet.service import serving  # noqa: PLC0415 - heavy, and an extra
        from trivet.service.settings import read_settings  # noqa: PLC0415

    def ready(name: str) -> None:
        sys.stderr.write(f"trivet works as {name}\n")
        sys.stderr.flush()

    status = serving.work(read_settings(door.cwd / args.config), name=args.name, ready=ready)
    serving.leave(status)
    return status
