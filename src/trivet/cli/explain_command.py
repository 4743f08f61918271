"""Say which zone a path is in and why, what a rule means, or what a decision says.

PATH is a file of the repository, existing or not: its zone, the rule that put it there, and how it could influence a verdict. RULE is an
id such as TRV107. DIR is a folder that a run wrote (`--out`).
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trivet.cli import Door, output
from trivet.errors import UsageError

if TYPE_CHECKING:
    from trivet.git import Repository
    from trivet.model import Placed, Policy

_RULE = re.compile(r"TRV\d+", re.IGNORECASE)
_DECISION = ("decision.json", "src_score.json", "oracle_integrity.json", "flake_lease.json")
_MOVES = {
    "source": "with other source, proposed and inert paths: a patch, judged by the three verdicts",
    "proposed": "with anything but oracle and control paths: a patch; the advisory lane runs it",
    "inert": "with anything: it is never scored and never run",
    "oracle": "without production code, by an owner: an oracle change",
    "control": "without production code, by an owner: an oracle change",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("what", metavar="PATH|RULE|DIR", nargs="?", help="a path of the repository, a rule id, or the folder of a run")
    parser.add_argument("--repo", metavar="DIR", type=Path, help="the repository (default: the current folder's)")
    parser.add_argument("--base", metavar="REV", default="HEAD", help="the commit whose policy counts (default: %(default)s)")
    parser.add_argument("--owner", action="store_true", help="say who may change the path, by the CODEOWNERS of --base")
    parser.add_argument("--isolation", action="store_true", help="say which attack families each level of isolation was seen to stop")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Explain one thing; always 0 when there is something to explain."""
    if args.isolation:
        facts, text = _isolation(args, door)
    elif args.what is None:
        raise UsageError("nothing to explain", hint="name a path, a rule such as TRV107, or the folder of a run; or --isolation")
    elif args.owner:
        facts, text = _owner(args, door)
    elif _RULE.fullmatch(args.what):
        facts, text = _rule(args.what.upper())
    elif any((door.cwd / args.what / name).is_file() for name in _DECISION):
        return _decision(door.cwd / args.what, args, door)
    else:
        facts, text = _path(args, door)
    output.say(json.dumps(facts, indent=2) + "\n" if args.json else text)
    return 0


def _table(title: str, rows: Iterator[tuple[str, str]]) -> str:
    return title + "\n" + "".join(f"    {name:<10}{value}\n" for name, value in rows if value)


# --- isolation ----------------------------------------------------------------------------------------


def _isolation(args: argparse.Namespace, door: Door) -> tuple[dict[str, object], str]:
    """What each level was seen to stop, and which level the policy of the repository asks for."""
    from importlib.resources import files  # noqa: PLC0415

    from trivet.git import CommitTree, open_repository  # noqa: PLC0415
    from trivet.sealed.policy import read_policy  # noqa: PLC0415

    levels: dict[str, dict[str, list[int]]] = json.loads(files("trivet.templates").joinpath("measured.json").read_text("utf-8"))
    with open_repository(door.cwd / args.repo if args.repo else door.cwd) as repository:
        score = read_policy(CommitTree(repository, repository.commit(args.base), args.base)).score
    families = sorted({family for level in levels.values() for family in level} - {"honest"})
    width = max(map(len, (*families, "honest patches merged")))
    lines = [f"{'attacks stopped':{width}}  " + "  ".join(f"{name:>10}" for name in levels)]
    for family in (*families, "honest"):
        name = "honest patches merged" if family == "honest" else family
        cells = ("{}/{}".format(*level[family]) if family in level else "-" for level in levels.values())
        lines.append(f"{name:{width}}  " + "  ".join(f"{cell:>10}" for cell in cells))
    asked = f"this repository: isolation = {score.isolation}, controls = {score.controls}, vary = {str(score.vary).lower()}"
    overrides = [f"    {row.path}: {row.isolation}" for row in score.override]
    note = "under auto, files run split where base shows that they can; every verdict names which ran how"
    facts: dict[str, object] = {
        "measured": levels,
        "isolation": score.isolation,
        "controls": score.controls,
        "vary": score.vary,
        "override": {row.path: row.isolation for row in score.override},
    }
    return facts, "\n".join((*lines, "", asked, *overrides, note)) + "\n"


# --- a rule -----------------------------------------------------------------------------------------


def _rule(name: str) -> tuple[dict[str, object], str]:
    from trivet.rules import RULES  # noqa: PLC0415 - only for this kind of question

    rule = RULES.get(name)
    if rule is None:
        near = [known for known in RULES if known.startswith(name[:4])]
        raise UsageError(
            f"no rule {name}", hint=f"rules of that leg: {near[0]} to {near[-1]}" if near else "rules are TRV1xx, TRV2xx and TRV3xx"
        )
    facts: dict[str, object] = {
        "rule": rule.id,
        "leg": rule.leg,
        "title": rule.title,
        "why": rule.why,
        "next": rule.next,
        "page": f"docs/{rule.slug}",
    }
    rows = iter((("leg", rule.leg), ("why", rule.why), ("next", rule.next), ("page", f"docs/{rule.slug}")))
    return facts, _table(f"{rule.id}  {rule.title}", rows)


# --- a decision -------------------------------------------------------------------------------------


def _decision(folder: Path, args: argparse.Namespace, door: Door) -> int:
    from trivet.report import files, render  # noqa: PLC0415

    decision = files.read(folder)
    if args.json:
        output.say(render("json", decision))
        return 0
    args.format, args.report = "text", []
    output.show(decision, args, door)
    return 0


# --- a path -----------------------------------------------------------------------------------------


def _path(args: argparse.Namespace, door: Door) -> tuple[dict[str, object], str]:
    from trivet.git import CommitTree, open_repository  # noqa: PLC0415
    from trivet.model import text_of  # noqa: PLC0415
    from trivet.sealed.policy import read_policy  # noqa: PLC0415

    with open_repository(door.cwd / args.repo if args.repo else door.cwd) as repository:
        path = _inside(args.what, repository, door.cwd if args.repo is None else None)
        base = repository.commit(args.base)
        tree = CommitTree(repository, base, args.base)
        policy = read_policy(tree)
        placed, exists = _placed(repository, args.base, policy, path)
    leave = _leave(policy, path) if placed.zone == "control" else ""
    how = placed.influence or "none"
    facts: dict[str, object] = {
        "path": text_of(path).encode("utf-8", "backslashreplace").decode(),
        "zone": placed.zone,
        "by": placed.by,
        "influence": placed.influence,
        "moves": _MOVES[placed.zone],
        "keys": leave,
        "exists": exists,
        "policy": policy.source,
    }
    rows = (
        ("zone", placed.zone),
        ("rule", placed.by),
        ("influence", how),
        ("moves", _MOVES[placed.zone]),
        ("except", leave),
        ("policy", policy.source + ("" if exists else "; the path does not exist there")),
    )
    return facts, _table(str(facts["path"]), iter(rows))


def _owner(args: argparse.Namespace, door: Door) -> tuple[dict[str, object], str]:
    from trivet.git import CommitTree, open_repository  # noqa: PLC0415
    from trivet.model import text_of  # noqa: PLC0415
    from trivet.sealed.owners import read_owners  # noqa: PLC0415
    from trivet.sealed.policy import read_policy  # noqa: PLC0415

    with open_repository(door.cwd / args.repo if args.repo else door.cwd) as repository:
        path = _inside(args.what, repository, door.cwd if args.repo is None else None)
        tree = CommitTree(repository, repository.commit(args.base), args.base)
        owners = read_owners(tree, read_policy(tree))
    duties = owners.duties(path)
    facts: dict[str, object] = {
        "path": text_of(path).encode("utf-8", "backslashreplace").decode(),
        "owners": list(owners.of(path)),
        "rules": [
            {"line": duty.line, "owners": list(duty.owners), "needed": duty.needed, "section": duty.section, "optional": duty.optional}
            for duty in duties
        ],
        "codeowners": owners.path,
        "dialect": owners.dialect,
        "problems": [{"line": row.line, "message": row.message} for row in owners.problems],
    }
    rows = [("owners", ", ".join(owners.of(path)) or "nobody: nobody may change it (TRV116)")]
    rows += [
        (f"line {duty.line}", f"{duty.needed} of {', '.join(duty.owners)}" + (" (optional)" if duty.optional else "")) for duty in duties
    ]
    rows.append(("file", f"{owners.path} ({owners.dialect})" if owners.path else "no CODEOWNERS"))
    rows += [("problem", (f"line {row.line}: " if row.line else "") + row.message) for row in owners.problems]
    return facts, _table(str(facts["path"]), iter(rows))


def _inside(what: str, repository: Repository, cwd: Path | None) -> bytes:
    """The path as git has it: relative to the root of the work tree, whatever folder the question comes from."""
    raw = os.fsencode(what)
    root = repository.home.work_tree
    if root is not None and (cwd is not None or raw.startswith(b"/")):
        start = os.fsencode(cwd) if cwd is not None else os.fsencode(root)
        # No link is followed: the question is about the link itself.
        raw = os.path.relpath(os.path.normpath(os.path.join(start, raw)), os.fsencode(root))  # noqa: PTH118 - bytes
    raw = os.path.normpath(raw.lstrip(b"/"))
    if raw in (b".", b"") or raw.split(b"/")[0] == b"..":
        raise UsageError(f"not a path inside the repository: {what}", hint="name a file, a rule such as TRV107, or the folder of a run")
    return raw


def _placed(repository: Repository, rev: str, policy: Policy, path: bytes) -> tuple[Placed, bool]:
    from trivet.git import FOLDER  # noqa: PLC0415
    from trivet.sealed.changes import place_one  # noqa: PLC0415

    base = repository.commit(rev)
    item = repository.find(base.tree, path)
    if item is not None and item.mode == FOLDER:
        return place_one(repository, base, policy, path + b"/_"), True
    return place_one(repository, base, policy, path), item is not None


def _leave(policy: Policy, path: bytes) -> str:
    keys = next((row.keys for row in policy.zones.allow if row.path.encode() == path), ())
    return f"these keys may move in a patch: {', '.join(keys)}" if keys else ""
