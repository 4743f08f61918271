"""Say what this host and this repository can and cannot hold.

The host: every escape attempt and bomb against each wall. The repository (its work tree, or a commit with --rev): oracles that are empty
or cannot fail, gate files that agents may write, paths without an owner, CODEOWNERS or workflows that fail open, tests that ask clock or
network, snapshot-heavy suites, leases near their end, a required check that is not required. Each with its remedy.

For each check: held, open, or unavailable. Exit status: 0 all held, 1 something is open (warnings count with --strict), 3 no wall can be
had. For CI: trivet doctor --only repository --json
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trivet.cli import Door, doctor_evidence
from trivet.errors import GitError, UsageError

if TYPE_CHECKING:
    from trivet.doctor.words import Check, Diagnosis

_SHOWN = 160


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="print all checks as JSON")
    parser.add_argument("--all", action="store_true", help="print the attempts that were held too")
    parser.add_argument("--quick", action="store_true", help="leave out the bombs (limits and survivors), which take some seconds")
    parser.add_argument("--wall", choices=("kernel", "bubblewrap"), action="append", help="try only this wall (several times if need be)")
    parser.add_argument("--only", choices=("host", "repository"), help="look at one of the two alone")
    parser.add_argument("--strict", action="store_true", help="let warnings count for the exit status")
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the repository (default: here)")
    parser.add_argument("--rev", metavar="REV", help="look at a commit instead of the work tree")
    parser.add_argument("--days", type=float, default=14.0, metavar="N", help="a lease that ends sooner is told (default: %(default)g)")
    parser.add_argument("--agent", action="append", default=[], metavar="LOGIN", help="who writes patches and must own no oracle")
    doctor_evidence.arguments(parser)


def run(args: argparse.Namespace, door: Door) -> int:
    """Diagnose and tell."""
    rules = doctor_evidence.rules(args, door)
    checks = () if args.only == "host" else _repository(args, door, rules)
    if args.only == "repository":
        from trivet.doctor.words import Diagnosis  # noqa: PLC0415 - after the arguments are known to be good

        found = Diagnosis(checks=checks, auto=None, strict=args.strict)
    else:
        from trivet.doctor.host import BACK_ENDS, diagnose  # noqa: PLC0415

        found = replace(diagnose(back_ends=args.wall or BACK_ENDS, bombs=not args.quick, more=checks), strict=args.strict)
    if args.json:
        names = ("group", "name", "state", "level", "detail", "place", "remedy")
        rows = [{name: getattr(check, name) for name in names} for check in found.checks]
        document = {"schema": 1, "auto": found.auto, "hint": found.hint, "lacks": found.lacks, "status": found.status, "checks": rows}
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
        return found.status
    _tell(found, everything=args.all)
    return found.status


def _repository(args: argparse.Namespace, door: Door, rules: tuple[object, ...] | None) -> tuple[Check, ...]:
    from trivet.doctor.repository import Question, examine  # noqa: PLC0415 - after the arguments are known to be good
    from trivet.doctor.words import unseen  # noqa: PLC0415
    from trivet.git import CommitTree, WorkTree, open_repository  # noqa: PLC0415

    question = Question(
        now=door.now, agents=tuple(args.agent), expiry_days=args.days, check=args.check, branch=args.branch or "main", rules=rules
    )
    root = door.cwd / args.repo
    if not root.is_dir():
        raise UsageError("no such folder", where=str(root))
    if args.rev is None:
        try:
            return examine(WorkTree(root), question)
        except GitError as error:
            if args.only == "repository":
                raise
            return (unseen("policy", f"the repository cannot be read: {error.message}", error.hint or "mend it"),)
    with open_repository(root) as repository:
        return examine(CommitTree(repository, repository.commit(args.rev), args.rev), question)


def _tell(found: Diagnosis, *, everything: bool) -> None:
    groups = dict.fromkeys(check.group for check in found.checks)
    for group in groups:
        rows = [check for check in found.checks if check.group == group]
        counts = {state: sum(check.state == state for check in rows) for state in ("held", "open", "unavailable")}
        sys.stdout.write(f"{group}: " + ", ".join(f"{number} {state}" for state, number in counts.items() if number) + "\n")
        shown = [check for check in rows if everything or check.state != "held" or group in ("host", "repository")]
        if counts["unavailable"] == len(rows):  # one reason for all
            shown = shown[:1]
        for check in shown:
            word = "warning" if check.state == "open" and check.level == "warning" else check.state
            where = f"{check.place}: " if check.place else ""
            sys.stdout.write(f"  {word:12}{check.name:34}{_plain(where + check.detail)[:_SHOWN]}\n")
            if check.remedy:
                sys.stdout.write(f"  {'':12}{'':34}remedy: {_plain(check.remedy)}\n")
    if found.auto is None:
        return
    sys.stdout.write(f"wall = auto takes: {found.auto or 'nothing: ' + found.hint}\n")
    for text in found.lacks:
        sys.stdout.write(f"  lacks: {text}\n")


def _plain(text: str) -> str:
    shown = "".join(char if char.isprintable() else " " for char in text)
    return shown.encode(sys.stdout.encoding or "utf-8", "backslashreplace").decode(sys.stdout.encoding or "utf-8")
