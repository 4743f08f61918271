"""Make, list and revoke tokens of a scoring service.

`token new --name WHO --scope submit --scope read --repo NAME --days N` prints a secret once; only its digest is kept. Scopes: submit (ask
for and cancel scores), read (see them), admin (both, and everything regardless of the feedback level). `--repo '*'` is every repository.
"""

from __future__ import annotations

import argparse
import datetime as dt
import sys

from trivet.cli import Door
from trivet.cli.extras import service_extra
from trivet.cli.serve_command import settings_arguments
from trivet.errors import UsageError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("action", choices=("new", "list", "revoke"), help="what to do")
    parser.add_argument("id", nargs="?", metavar="ID", help="the token to revoke")
    settings_arguments(parser)
    parser.add_argument("--name", metavar="WHO", help="who will use it; shown in the audit log")
    parser.add_argument("--scope", action="append", default=[], choices=("submit", "read", "admin"), help="what it may; several times")
    parser.add_argument("--repo", action="append", default=[], metavar="NAME", help="for which repository; several times; * for all")
    parser.add_argument("--days", type=float, default=90.0, metavar="N", help="how long it is good for (default: %(default)g)")


def run(args: argparse.Namespace, door: Door) -> int:
    """Make, list or revoke."""
    with service_extra():
        from trivet.service import keyring, schema  # noqa: PLC0415 - heavy, and an extra
        from trivet.service.settings import read_settings  # noqa: PLC0415
        from trivet.service.store import open_store  # noqa: PLC0415
    settings = read_settings(door.cwd / args.config)
    store = open_store(settings.store_url)
    schema.migrate(store)
    try:
        if args.action == "new":
            unknown = [name for name in args.repo if name != keyring.ALL and settings.repository(name) is None]
            if not args.name or args.id or unknown:
                raise UsageError(
                    f"no repository {unknown[0]!r} in the settings" if unknown else "`token new` needs --name WHO, --scope and --repo",
                    hint="for example: trivet token new --name agent --scope submit --scope read --repo project",
                )
            token, secret = keyring.new_token(
                store, name=args.name, scopes=args.scope, repos=args.repo, now=door.now, expires_at=door.now + args.days * 86_400
            )
            sys.stdout.write(f"{secret}\n")
            sys.stderr.write(f"token {token.id}, good until {_day(token.expires_at)}; it is shown this once\n")
        elif args.action == "revoke":
            if not args.id or not keyring.revoke(store, args.id, door.now):
                raise UsageError(f"no living token {args.id or ''!r}", hint="see `trivet token list`")
            sys.stderr.write(f"token {args.id} is revoked\n")
        else:
            for row in keyring.tokens(store):
                state = (
                    "revoked"
                    if row.revoked_at is not None
                    else "expired"
                    if row.expires_at <= door.now
                    else f"until {_day(row.expires_at)}"
                )
                used = "never used" if row.used_at is None else f"used {_day(row.used_at)}"
                sys.stdout.write(f"{row.id}  {row.name}  {','.join(row.scopes)}  {','.join(row.repos)}  {state}  {used}\n")
    finally:
        store.close()
    return 0


def _day(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%d %H:%M UTC")
