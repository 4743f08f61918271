"""Look after the store of a scoring service: migrate, check, back up, restore, prune.

`store migrate [--to REVISION]` brings the schema up (or down); `serve` and `worker` do it by themselves at their start. `store backup DIR`
writes a new folder while the service runs; `store restore DIR` puts it back where no store is. `store prune` removes what is older than
the settings keep it; workers do that once a day.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trivet.cli import Door
from trivet.cli.extras import service_extra
from trivet.cli.serve_command import settings_arguments
from trivet.errors import UsageError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("action", choices=("migrate", "check", "backup", "restore", "prune"), help="what to do")
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="the folder of the backup")
    settings_arguments(parser)
    parser.add_argument("--to", default="head", metavar="REVISION", help="for migrate: a revision, `head` or `base` (default: %(default)s)")


def run(args: argparse.Namespace, door: Door) -> int:
    """Do one thing to the store."""
    with service_extra():
        from trivet.service import backup, retention, schema  # noqa: PLC0415 - heavy, and an extra
        from trivet.service.settings import read_settings  # noqa: PLC0415
        from trivet.service.store import open_store  # noqa: PLC0415
    settings = read_settings(door.cwd / args.config)
    if (args.action in ("backup", "restore")) != (args.folder is not None):
        raise UsageError("`store backup` and `store restore` take a folder, the others take none")
    if args.action in ("backup", "restore"):
        step = backup.back_up if args.action == "backup" else backup.restore
        for path in step(settings, door.cwd / args.folder):
            sys.stdout.write(f"{path}\n")
        return 0
    store = open_store(settings.store_url)
    try:
        if args.action == "migrate":
            sys.stdout.write(f"{schema.migrate(store, args.to) or 'base'}\n")
        elif args.action == "check":
            schema.check(store)
            sys.stdout.write(f"ok, revision {schema.newest()}\n")
        else:
            gone = retention.prune(store, settings.store, door.now)
            sys.stdout.write(
                f"removed {gone.scores} scores, {gone.evidence} files, {gone.audit} audit rows, {gone.deliveries} deliveries\n"
            )
    finally:
        store.close()
    return 0
