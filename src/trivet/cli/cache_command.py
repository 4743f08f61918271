"""Show, check and clear what is kept of earlier judgements.

What is kept lies in one SQLite file of this user, in a folder that nobody else can read. It is never asked whether a lease has expired, and
one whole verdict in a hundred is judged anew when it is asked for. Clearing it costs time and nothing else.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from trivet import quick, recall
from trivet.cli import Door, output
from trivet.errors import CacheError, UsageError
from trivet.store import Store, trusted


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``trivet cache``."""
    parser.add_argument("action", choices=("info", "clear", "verify"), help="show what is kept; remove it; read every row and check it")
    parser.add_argument("--recompute", type=int, default=0, metavar="N", help="with verify: judge N kept verdicts anew and compare")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Do one thing to the cache; ``verify`` ends with 1 where something was wrong."""
    if args.recompute < 0 or (args.recompute and args.action != "verify"):
        raise UsageError("--recompute takes a number from 0 and goes with verify")
    folder = quick.folder_of(door.environ)
    if args.action == "clear":
        from trivet.stage.pool import clear  # noqa: PLC0415 - imports what looking does not need

        clear()
    if not Path(folder).is_dir():
        output.say(json.dumps({"folder": folder, "rows": {}}) + "\n" if args.json else f"nothing is kept: there is no folder {folder}\n")
        return 0
    if not trusted(folder, output.warn, make=False):
        raise CacheError("the cache folder cannot be trusted", where=folder, hint="remove it; a new one is made with the next judgement")
    store = Store(folder, output.warn)
    if args.action == "clear":
        store.clear()
        output.say(f"cleared {folder}\n")
        return 0
    return _info(store, as_json=args.json) if args.action == "info" else _verify(store, args, door)


def _info(store: Store, *, as_json: bool) -> int:
    facts = {"folder": store.folder, **store.info()}
    if as_json:
        output.say(json.dumps(facts) + "\n")
        return 0
    from trivet.stage.pool import Pool  # noqa: PLC0415

    pool = Pool.find(output.warn, make=False)
    trees, size = pool.info() if pool is not None else (0, 0)
    rows, quarantine = facts["rows"], facts["quarantine"]
    lines = [f"{store.folder}: {facts['bytes']} of at most {facts['bound']} bytes, {facts['families']} bases in their environments"]
    for kind, row in sorted(rows.items() if isinstance(rows, Mapping) else ()):
        lines.append(f"  {kind:12} {row[0]:6} rows {row[1]:10} bytes")
    lines.append(f"  {'trees':12} {trees:6} warm {size:10} bytes in {pool.folder if pool is not None else 'no folder'}")
    for family, why in quarantine if isinstance(quarantine, list) else ():
        lines.append(f"  quarantine   {family[:12]}: {why} (`trivet cache clear` ends it)")
    output.say("\n".join(lines) + "\n")
    return 0


def _verify(store: Store, args: argparse.Namespace, door: Door) -> int:
    whole, problems = store.check()
    judged = 0
    for key, value in list(store.values(recall.KIND))[: args.recompute]:
        parts = recall.unpack(value) or {}
        judged += 1
        problem = _judged_again(store, parts, door)
        if problem:
            problems.append(f"{recall.KIND} {key[:12]}: {problem}")
    facts = {"folder": store.folder, "whole": whole, "judged": judged, "problems": problems}
    told = "".join(f"  {problem}\n" for problem in problems)
    again = f", {judged} verdicts judged again" if args.recompute else ""
    text = f"{store.folder}: {whole} rows are whole{again}, {len(problems)} problems\n{told}"
    output.say(json.dumps(facts) + "\n" if args.json else text)
    return int(bool(problems))


def _judged_again(store: Store, parts: Mapping[str, bytes], door: Door) -> str:
    """What is wrong with one kept verdict; "" where a new judgement agrees, or where its commits are gone."""
    from trivet.cli.recalled import essence  # noqa: PLC0415
    from trivet.gate import GateRequest, judge  # noqa: PLC0415
    from trivet.report.document import document  # noqa: PLC0415

    asked = {name: data.decode("utf-8", "surrogateescape") for name, data in (recall.unpack(parts.get("asked", b"")) or {}).items()}
    known = json.loads(parts["decision.json"])
    repo, base, head = Path(asked.get("repo", "")), str(known["base"]["commit"]), str(known["head"]["commit"])
    if not repo.is_dir():
        output.warn(f"{repo} is gone: its verdict is left alone")
        return ""
    options = json.loads(asked.get("options", "{}"))
    wanted = GateRequest(
        repo=repo,
        base=base,
        head=head,
        now=door.now,
        python=asked.get("python") or None,
        isolation=options.get("isolation"),
        controls=options.get("controls"),
        wall=options.get("wall"),
        vary=bool(options.get("vary")),
        reruns=options.get("reruns"),
        cache=Path(store.folder),
        audit=True,
        advisory=False,
        warn=output.warn,
    )
    if essence(document(judge(wanted))) == essence(known):
        return ""
    family = store.get(recall.KIND, recall.key_of(_asked(asked, options)))
    if family is not None:
        store.quarantine(family[0], "a kept verdict is not the one of a new run", made=door.now)
    return f"{base[:12]} to {head[:12]} in {repo}: a new run decides otherwise; its base is in quarantine"


def _asked(asked: Mapping[str, str], options: Mapping[str, object]) -> recall.Asked:
    return recall.Asked(repo=asked["repo"], base=asked["base"], head=asked["head"], python=asked["python"], options=options)
