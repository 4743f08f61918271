"""Write or check the manifests of sealed tests and fixtures. Run it after an owner has changed an oracle, then commit the result.

Examples:
  trivet seal            write the manifests that the policy names
  trivet seal --check    change nothing; end with 1 where they are not what they must be
"""

from __future__ import annotations

import argparse
from pathlib import Path

from trivet.cli import Door, output


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the work tree (default: the current folder)")
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 when a manifest has drifted")


def run(args: argparse.Namespace, door: Door) -> int:
    """Write and tell, or check and tell."""
    from trivet.sealing import check, seal  # noqa: PLC0415 - after the arguments are known to be good

    root = door.cwd / args.repo
    if args.check:
        result = check(root)
        rows = [f"{drift.rule}  {drift.path}{f':{drift.line}' if drift.line else ''}  {drift.message}" for drift in result.drifts]
        blocked = any(drift.level == "error" for drift in result.drifts)
        rows.append(f"{len(result.tests)} sealed tests; " + ("drift: run `trivet seal`" if blocked else "the manifests are right"))
        output.say("\n".join(rows) + "\n")
        return 1 if blocked else 0
    done = seal(root)
    rows = [*(f"wrote  {path}" for path in done.wrote), *(f"kept   {path} (nothing to change)" for path in done.kept)]
    rows += [f"still  {drift.rule}  {drift.path}: {drift.message}" for drift in done.left]
    rows.append(f"{done.tests} sealed tests")
    output.say("\n".join(rows) + "\n")
    return 1 if any(drift.level == "error" for drift in done.left) else 0
