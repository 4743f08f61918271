"""Print the environment part of the replay key, and its digest, without a run.

Two hosts that print the same digest judge under the same environment. What of a key is not here is about the change: commits, trees,
policy, secret.

Examples:
  trivet env --base main
  trivet env --base main --json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from trivet.cli import Door, output


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the repository (default: here)")
    parser.add_argument("--base", default="HEAD", metavar="REV", help="the commit whose policy counts (default: %(default)s)")
    parser.add_argument("--python", metavar="EXE", help="the project's interpreter (default: the policy's score.python)")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Print the facts."""
    from trivet.gate import GateRequest  # noqa: PLC0415 - loaded when it runs
    from trivet.replaying import digest_of, environment  # noqa: PLC0415

    python = None if args.python is None else str(door.cwd / args.python)
    facts = environment(GateRequest(repo=door.cwd / args.repo, base=args.base, head=args.base, now=door.now, python=python))
    digest = digest_of(facts)
    if args.json:
        output.say(json.dumps({"facts": dict(sorted(facts.items())), "digest": digest}, indent=2) + "\n")
        return 0
    width = max(map(len, facts))
    output.say("".join(f"{name:{width}}  {value}\n" for name, value in sorted(facts.items())) + f"\ndigest  {digest}\n")
    return 0
