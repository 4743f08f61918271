"""Write configuration, folders, owners and CI jobs for a repository. Overwrites nothing, and says what it wrote.

Examples:
  trivet init --owner @acme/quality --github
  trivet init --source 'mypkg/**' --oracle 'tests/**' --owner @alice
"""

from __future__ import annotations

import argparse
from pathlib import Path

from trivet.cli import Door, output
from trivet.errors import UsageError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the repository (default: the current folder)")
    parser.add_argument("--preset", choices=("verdicts", "lanes"), default="verdicts", help="the layout (default: %(default)s)")
    forge = parser.add_mutually_exclusive_group()
    forge.add_argument("--github", dest="forge", action="store_const", const="github", default="", help="add a GitHub workflow")
    forge.add_argument("--gitlab", dest="forge", action="store_const", const="gitlab", help="add a GitLab job")
    parser.add_argument("--app", type=int, metavar="NUMBER", help="the GitHub App that alone may set the check (default: GitHub Actions)")
    parser.add_argument("--source", action="append", default=[], metavar="PATTERN", help="where production code is (default: detected)")
    parser.add_argument("--oracle", action="append", default=[], metavar="PATTERN", help="tests and fixtures to seal where they are")
    parser.add_argument("--owner", action="append", default=[], metavar="@WHO", help="who may change oracles; goes into CODEOWNERS")


def run(args: argparse.Namespace, door: Door) -> int:
    """Write and tell."""
    from trivet.scaffold import ACTIONS_APP, Wishes, scaffold  # noqa: PLC0415 - after the arguments are known to be good

    if args.app is not None and (args.forge != "github" or args.app < 1):
        raise UsageError("--app takes the number of a GitHub App, together with --github")
    wishes = Wishes(
        preset=args.preset,
        forge=args.forge,
        source=tuple(args.source),
        oracle=tuple(args.oracle),
        owners=tuple(args.owner),
        app=args.app or ACTIONS_APP,
    )
    done = scaffold(door.cwd / args.repo, wishes)
    rows = [
        *(f"wrote     {path}" for path in done.wrote),
        *(f"extended  {path}" for path in done.extended),
        *(f"kept      {path} (it was there)" for path in done.kept),
        "",
        *done.notes,
    ]
    if args.forge:
        rows += _conditions(door.cwd / args.repo)
    output.say("\n".join(rows) + "\n")
    return 0


def _conditions(root: Path) -> list[str]:
    """The conditions that the CI files themselves have to meet, checked on what stands there now."""
    from trivet.doctor.workflows import checks  # noqa: PLC0415 - only where a forge was asked for
    from trivet.git import WorkTree  # noqa: PLC0415

    rows = ["", "the CI files in this repository:"]
    for check in checks(WorkTree(root, plain=True), "trivet/join"):
        rows.append(f"    {check.state:12}{check.place + ': ' if check.place else ''}{check.detail}")
        rows += [f"    {'':12}remedy: {check.remedy}"] if check.remedy else []
    return rows
