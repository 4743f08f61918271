"""Cut a mixed change into a source part and an oracle part, each a branch from BASE that can be judged by itself.

The branches are named trivet/split-source-HEAD and trivet/split-oracle-HEAD; a branch that exists is left alone unless --force is given.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from trivet.cli import Door, output
from trivet.model import text_of
from trivet.report import escape

if TYPE_CHECKING:
    from trivet.splitting import Part


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the repository (default: here)")
    parser.add_argument("--base", required=True, metavar="REV", help="the trusted revision; both branches start there")
    parser.add_argument("--head", required=True, metavar="REV", help="the mixed change")
    parser.add_argument("--force", action="store_true", help="move branches of these names that exist already")
    parser.add_argument("--json", action="store_true", help="print the two parts as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Split, and say how each part will be judged."""
    from trivet.splitting import split  # noqa: PLC0415 - heavy rooms load when they are needed

    parts = split(door.cwd / args.repo, args.base, args.head, force=args.force)
    if args.json:
        rows = [{**asdict(part), "paths": _paths(part), "findings": _findings(part)} for part in parts]
        output.say(json.dumps({"parts": rows}) + "\n")
        return 0
    lines = []
    for part in parts:
        lines += [f"{part.branch}  {part.commit[:12]}", f"  judged as {part.judged}"]
        if part.owners:
            lines.append(f"  owners    {escape.line(', '.join(part.owners))}")
        for finding in part.findings:
            level = "" if finding.level == "error" else f" {finding.level}:"
            where = "" if finding.path is None else f" {escape.name(finding.path)}"
            lines.append(f"  {finding.rule}   {level}{where}  {escape.line(finding.message)}")
        lines += [f"  {zone:9} {escape.name(path)}" for path, zone in part.paths]
    output.say("\n".join(lines) + "\n")
    sys.stderr.write("next: send the oracle part first; then rebase the source part on it and judge it with `trivet gate`\n")
    return 0


def _paths(part: Part) -> list[dict[str, str]]:
    return [{"path": path, "zone": zone} for path, zone in part.paths]


def _findings(part: Part) -> list[dict[str, str | None]]:
    found = []
    for row in part.findings:
        path = None if row.path is None else text_of(row.path)
        found.append({"rule": row.rule, "level": row.level, "message": row.message, "path": path, "next": row.next})
    return found
