"""Judge again what a decision was about, under its replay key, and say whether the outcome is equal.

WHAT is a decision.json, a folder of verdict files, or the digest of a replay key (8 digits or more) that was judged by this user. Tree,
seeds, order, controls and wall are those of the key. Durations and the advisory lane are not compared. Ends with 0 where the outcome is
equal, 1 where it differs, 3 where it cannot be judged here.

Examples:
  trivet replay ci_out/decision.json
  trivet replay 3f2c1e0a
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from trivet.cli import Door, output


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("what", metavar="WHAT", help="decision.json, a folder that holds one, or the digest of a replay key")
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="a clone, worktree or bare repository (default: here)")
    parser.add_argument("--python", metavar="EXE", help="the project's interpreter (default: the policy's score.python)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write the new verdict files there")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Replay and compare."""
    from trivet.gate import GateRequest  # noqa: PLC0415 - loaded when it runs
    from trivet.replaying import find, replay  # noqa: PLC0415
    from trivet.report import files  # noqa: PLC0415

    recorded = find(args.what, cwd=door.cwd, cache=output.cache_of(door))
    python = None if args.python is None else str(door.cwd / args.python)
    done = replay(recorded, GateRequest(repo=door.cwd / args.repo, base="", head="", now=door.now, python=python))
    if args.out is not None:
        files.clear(door.cwd / args.out)
        files.write(done.decision, door.cwd / args.out)
    equal = done.first is None
    if args.json:
        names = ("name", "was", "is")
        data = {
            "key": done.digest,
            "equal": equal,
            "environment": [dict(zip(names, row, strict=True)) for row in done.environment],
            "first_difference": None if done.first is None else dict(zip(("at", "was", "is"), done.first, strict=True)),
        }
        output.say(json.dumps(data, indent=2) + "\n")
        return 0 if equal else 1
    lines = [f"key      {done.digest or '(nothing ran: there is none)'}"]
    lines += [f"here     {name} is {now!r}, it was {was!r}" for name, was, now in done.environment]
    if done.first is not None:
        place, was, now = done.first
        lines += [f"differs  at {place}", f"  was    {was}", f"  is     {now}"]
    output.say("\n".join([*lines, "equal" if equal else "not equal"]) + "\n")
    return 0 if equal else 1
