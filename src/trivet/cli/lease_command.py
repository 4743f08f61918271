"""The lease ledger: dated permissions for sealed tests to be skipped or to fail as expected.

A lease is bound to the digest of the test's code and to the way in which it fails; when it ends, the test counts again. Every change of
the ledger is an oracle change: an owner sends it, without production code.

Examples:
  trivet lease adopt --owner @quality --days 60           give every skip that stands today a dated lease
  trivet lease add tests/sealed/test_a.py::test_b --owner @quality --reason "race in the driver" --days 14
  trivet lease list
  trivet lease digest tests/sealed/test_a.py test_b       print what belongs into bytecode_hash
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from trivet.cli import Door, output
from trivet.errors import UsageError

if TYPE_CHECKING:
    from trivet.leasing.desk import Desk
    from trivet.leasing.lab import Lab


class _Verb(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see `{self.prog} --help`")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=_Verb)
    digest = verbs.add_parser("digest", help="print the digest of a test, and nothing else")
    digest.add_argument("file", metavar="FILE", help="the test file, relative to the current folder")
    digest.add_argument("function", metavar="FUNCTION", help="`name` or `Class.name`")
    digest.add_argument("--source", action="store_true", help="print the digest of the syntax tree instead (`source_hash`)")
    digest.add_argument("--weak", action="store_true", help="print the legacy form instead (16 digits of co_code)")
    adopt = verbs.add_parser("adopt", help="give every skip that stands today a dated lease")
    adopt.add_argument("--owner", required=True, metavar="WHO", help="who stands behind the leases")
    adopt.add_argument("--days", type=float, default=60.0, metavar="N", help="how long they last (default: %(default)g)")
    add = verbs.add_parser("add", help="lease one test: run it with its marks lifted and record how it fails")
    add.add_argument("test", metavar="TEST", help="`path::function`, `path::Class::function` or `stem.function`")
    add.add_argument("--owner", required=True, metavar="WHO", help="who stands behind the lease")
    add.add_argument("--reason", required=True, metavar="TEXT", help="why the test may be skipped")
    add.add_argument("--flaky", action="store_true", help="only if perturbed runs see it pass and fail; the reason says why it does")
    renew = verbs.add_parser("renew", help="give a lease a later end and the strong digest of the code as it stands")
    renew.add_argument("test", metavar="TEST", nargs="?", help="as for `add`")
    renew.add_argument("--weak", action="store_true", help="give every row that holds by the weak digest the strong one; no end moves")
    renew.add_argument("--keep-end", action="store_true", help="renew the digest alone: a change that alters the test may not move the end")
    for verb in (add, renew):
        verb.add_argument("--days", type=float, default=14.0, metavar="N", help="how long it lasts from now (default: %(default)g)")
        verb.add_argument("--signature", metavar="TEXT", help="`TYPE: MESSAGE`, `*` stands for any text (default: as seen)")
        verb.add_argument("--no-run", action="store_true", help="do not run the test")
    remove = verbs.add_parser("remove", help="take a row out of the ledger")
    remove.add_argument("test", metavar="TEST", help="as for `add`, or the row's qualname")
    listing = verbs.add_parser("list", help="show the rows")
    listing.add_argument("--json", action="store_true", help="as JSON")
    listing.add_argument("--run", action="store_true", help="run the leased tests now with their marks lifted, to see how they end")
    for verb in (add, renew, adopt, listing):
        verb.add_argument("--python", metavar="EXE", help="the project's interpreter (default: the policy's)")
    check = verbs.add_parser("check", help="read ledger and skips of the work tree; end with 1 where something is wrong")
    for verb in (adopt, add, renew, remove, listing, check):
        verb.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the work tree (default: the current folder)")


def run(args: argparse.Namespace, door: Door) -> int:
    """Do what the verb says."""
    verbs = {"digest": _digest, "adopt": _adopt, "add": _add, "renew": _renew, "remove": _remove, "list": _list, "check": _check}
    return verbs[args.verb](args, door)


def _digest(args: argparse.Namespace, door: Door) -> int:
    from trivet.leasing.digests import digest  # noqa: PLC0415 - each verb loads what it needs

    found = digest(door.cwd, args.file, args.function)
    output.say((found.weak if args.weak else found.source_hash if args.source else found.strong) + "\n")
    return 0


def _desk(args: argparse.Namespace, door: Door) -> Desk:
    from trivet.leasing.desk import open_desk  # noqa: PLC0415

    return open_desk(door.cwd / args.repo, door.now)


@contextmanager
def _lab(desk: Desk, args: argparse.Namespace, door: Door) -> Iterator[Lab]:
    from trivet.leasing.lab import open_lab  # noqa: PLC0415

    python = None if args.python is None else str(door.cwd / args.python)
    with open_lab(desk, python, lambda line: _tell(line + "\n")) as lab:
        yield lab


def _tell(text: str) -> None:
    sys.stderr.write(text.encode("utf-8", "backslashreplace").decode())


def _adopt(args: argparse.Namespace, door: Door) -> int:
    from trivet.leasing.adopt import adopt  # noqa: PLC0415

    desk = _desk(args, door)
    desk.expiry(args.days)
    with _lab(desk, args, door) as lab:
        done = adopt(desk, lab, owner=args.owner, days=args.days)
    rows = [f"leased  {row['qualname']}  {row['failure_signature']}" for row in done.rows]
    rows += [f"left    {name}: {why}" for name, why in done.left]
    output.say("\n".join([*rows, f"{len(done.rows)} leases written, {len(done.left)} left"]) + "\n")
    return 0


def _add(args: argparse.Namespace, door: Door) -> int:
    from trivet.leasing.rows import add, add_flaky  # noqa: PLC0415

    desk = _desk(args, door)
    words = {"owner": args.owner, "reason": args.reason, "days": args.days, "signature": args.signature}
    if args.flaky:
        if args.no_run or args.signature is not None:
            raise UsageError("--flaky runs the test and takes its signature from what is seen", hint="leave --signature and --no-run out")
        with _lab(desk, args, door) as lab:
            row = add_flaky(desk, lab, args.test, owner=args.owner, reason=args.reason, days=args.days)
    elif args.no_run or args.signature is not None:
        row = add(desk, None, args.test, **words)
    else:
        with _lab(desk, args, door) as lab:
            row = add(desk, lab, args.test, **words)
    output.say(f"leased  {row['qualname']}  {row['failure_signature']}\n")
    return 0


def _renew(args: argparse.Namespace, door: Door) -> int:
    from trivet.leasing.rows import renew, upgrade  # noqa: PLC0415

    desk = _desk(args, door)
    if args.weak:
        named = upgrade(desk)
        output.say("\n".join([*(f"strong   {name}" for name in named), f"{len(named)} rows have the strong digest now"]) + "\n")
        return 0
    if args.test is None:
        raise UsageError("a test is needed, or --weak for all rows with the weak digest", hint="see `trivet lease renew --help`")
    words = {"days": args.days, "signature": args.signature, "keep_end": args.keep_end}
    if args.no_run:
        row = renew(desk, None, args.test, **words)
    else:
        with _lab(desk, args, door) as lab:
            row = renew(desk, lab, args.test, **words)
    output.say(f"renewed  {row['qualname']}  {'its end stays' if args.keep_end else f'{args.days:g} days'}\n")
    return 0


def _remove(args: argparse.Namespace, door: Door) -> int:
    from trivet.leasing.rows import remove  # noqa: PLC0415

    output.say(f"removed  {remove(_desk(args, door), args.test)}\n")
    return 0


def _list(args: argparse.Namespace, door: Door) -> int:
    from trivet.leasing.rows import Listed, listed, sightings  # noqa: PLC0415
    from trivet.stage.cache import Cache  # noqa: PLC0415

    desk, cache = _desk(args, door), Cache(output.cache_of(door))
    if args.run:
        with _lab(desk, args, door) as lab:
            sightings(desk, lab, cache)
    rows = listed(desk, cache)
    if args.json:
        plain = [
            {"test": r.test, "owner": r.owner, "age": None if r.age is None else round(r.age, 2), "days": round(r.days, 2),
             "last_seen_failing": _moment(r.failed), "last_seen_passing": _moment(r.passed),
             "state": r.state, "signature": r.signature, "reason": r.reason}
            for r in rows
        ]  # fmt: skip
        output.say(json.dumps(plain, indent=2) + "\n")
        return 0

    def cells(row: Listed) -> tuple[str, ...]:
        age = "new" if row.age is None else f"{row.age:.0f} days"
        failing = f"passed {_moment(row.passed)}" if row.passed > row.failed else _moment(row.failed) or "never here"
        return row.test, row.owner, age, f"{row.days:.1f}", failing, row.state

    table = [("test", "owner", "age", "days left", "last seen failing", "state"), *map(cells, rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    lines = ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    output.say("\n".join([*(lines if rows else ()), f"{len(rows)} leases"]) + "\n")
    return 0


def _moment(seconds: float) -> str | None:
    from datetime import UTC, datetime  # noqa: PLC0415

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M") if seconds else None


def _check(args: argparse.Namespace, door: Door) -> int:
    from trivet.leasing.rows import check  # noqa: PLC0415

    found = check(_desk(args, door))
    lines = [
        f"{f.level:7}  {f.rule}  {f.path.decode('utf-8', 'replace') if f.path else ''}{f':{f.line}' if f.line else ''}  {f.message}"
        for f in found
    ]
    output.say("\n".join([*lines, f"{len(found)} findings"]) + "\n")
    return 1 if any(finding.level == "error" for finding in found) else 0
