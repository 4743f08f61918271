"""Show the policy that counts, each value with its source, or the JSON Schema of trivet.toml.

`show` reads the policy of one commit as the gate does: preset, trivet.toml, .pyrefix-lanes.toml and pytest's own configuration. `schema`
prints the types, ranges and names of all keys of trivet.toml.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trivet.cli import Door, output

if TYPE_CHECKING:
    from trivet.model import Policy


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("what", choices=("show", "schema"), help="the effective policy, or the schema of trivet.toml")
    parser.add_argument("--repo", metavar="DIR", type=Path, help="the repository (default: the current folder's)")
    parser.add_argument("--base", metavar="REV", default="HEAD", help="the commit whose policy counts (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON (schema is always JSON)")


def run(args: argparse.Namespace, door: Door) -> int:
    """Print the policy or the schema."""
    if args.what == "schema":
        from trivet.sealed.policy_file import schema  # noqa: PLC0415 - only for this question

        output.say(json.dumps(schema(), indent=2) + "\n")
        return 0
    from trivet.git import CommitTree, open_repository  # noqa: PLC0415
    from trivet.sealed.policy import POLICY_FILE, plain, read_policy  # noqa: PLC0415

    with open_repository(door.cwd / args.repo if args.repo else door.cwd) as repository:
        tree = CommitTree(repository, repository.commit(args.base), args.base)
        policy = read_policy(tree)
        text = (tree.read(POLICY_FILE) or b"").decode("utf-8")
    output.say(json.dumps(plain(policy), indent=2) + "\n" if args.json else _shown(policy, plain(policy), text))
    return 0


def _shown(policy: Policy, values: dict[str, object], text: str) -> str:
    rows = list(_rows(values, text, policy.preset))
    width = max(len(key) for key, _, _ in rows)
    lines = [f"{key:<{width}}  {value}   # {source}" for key, value, source in rows]
    return f"# {policy.source}\n# digest {policy.digest}\n" + "\n".join(lines) + "\n"


def _rows(values: dict[str, object], text: str, preset: str) -> Iterator[tuple[str, str, str]]:
    from trivet.sealed.policy_file import line_of  # noqa: PLC0415

    for key, value in values.items():
        if key in ("digest", "source"):
            continue
        for name, inner in value.items() if isinstance(value, dict) else [("", value)]:
            full = f"{key}.{name}" if name else key
            line = written(text, full, line_of(text, full))
            default = "pytest's configuration" if name in ("test_patterns", "not_collected") else f"preset {preset}"
            origin = f"trivet.toml line {line}" if line else default
            yield full, json.dumps(inner), origin


def written(text: str, key: str, line: int | None) -> int | None:
    """The line, if it really holds the key and not only the table that would hold it."""
    if not line:
        return None
    row = text.split("\n")[line - 1].strip()
    last = key.rpartition(".")[2]
    return line if row.startswith((last, f'"{last}"', f"[{key}", f"[[{key}", f"{key}")) else None
