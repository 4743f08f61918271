"""Say what this host can and cannot hold: every escape attempt and bomb against each wall.

For each attempt: held, open, or unavailable, with what to do about it. Exit status: 0 when the wall that `auto` takes holds
them all, 1 when it leaves some open, 3 when no wall can be had.
"""

from __future__ import annotations

import argparse
import json
import sys

from trivet.cli import Door

_SHOWN = 100


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="print all checks as JSON")
    parser.add_argument("--all", action="store_true", help="print the attempts that were held too")
    parser.add_argument("--quick", action="store_true", help="leave out the bombs (limits and survivors), which take some seconds")
    parser.add_argument("--wall", choices=("kernel", "bubblewrap"), action="append", help="try only this wall (several times if need be)")


def run(args: argparse.Namespace, door: Door) -> int:  # noqa: ARG001 - the signature of commands
    """Diagnose and tell."""
    from trivet.doctor import BACK_ENDS, Diagnosis, diagnose  # noqa: PLC0415 - after the arguments are known to be good

    found: Diagnosis = diagnose(back_ends=args.wall or BACK_ENDS, bombs=not args.quick)
    if args.json:
        rows = [{name: getattr(check, name) for name in ("group", "name", "state", "detail", "remedy")} for check in found.checks]
        document = {"schema": 1, "auto": found.auto, "hint": found.hint, "lacks": found.lacks, "status": found.status, "checks": rows}
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
        return found.status
    groups = dict.fromkeys(check.group for check in found.checks)
    for group in groups:
        rows_of = [check for check in found.checks if check.group == group]
        counts = {state: sum(check.state == state for check in rows_of) for state in ("held", "open", "unavailable")}
        sys.stdout.write(f"{group}: " + ", ".join(f"{number} {state}" for state, number in counts.items() if number) + "\n")
        shown = [check for check in rows_of if args.all or check.state != "held" or group in ("host", "repository")]
        if counts["unavailable"] == len(rows_of):  # one reason for all
            shown = shown[:1]
        for check in shown:
            detail = "".join(char if char.isprintable() else " " for char in check.detail)[:_SHOWN]
            sys.stdout.write(f"  {check.state:12}{check.name:34}{detail}\n")
            if check.remedy:
                sys.stdout.write(f"  {'':12}{'':34}remedy: {check.remedy}\n")
    sys.stdout.write(f"wall = auto takes: {found.auto or 'nothing: ' + found.hint}\n")
    for text in found.lacks:
        sys.stdout.write(f"  lacks: {text}\n")
    return found.status
