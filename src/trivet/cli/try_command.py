"""Say what the gate would have said of the last commits of a repository: how many it would block, and why.

Nothing is written and no code is run. The policy is FILE of --config, else the tip's own (trivet.toml or a preset's folders), else a guess
in which every test of the tip is sealed; --print-config prints that guess, to start from.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trivet.cli import Door, output, progress
from trivet.report import escape
from trivet.rules import RULES

if TYPE_CHECKING:
    from trivet.trying import Tried, Word

_SHOWN = 10


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the repository (default: here)")
    parser.add_argument("-n", "--commits", type=int, default=50, metavar="N", help="how many commits to look at (default: %(default)s)")
    parser.add_argument("--head", default="HEAD", metavar="REV", help="from where to look back, along first parents (default: HEAD)")
    parser.add_argument("--config", type=Path, metavar="FILE", help="a trivet.toml that is considered")
    parser.add_argument("--print-config", action="store_true", help="print the policy that is guessed, and nothing else")
    parser.add_argument("--all", action="store_true", help="list every commit, not only the last that would be blocked")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    progress.arguments(parser)


def run(args: argparse.Namespace, door: Door) -> int:
    """Report; always 0 when the commits could be looked at."""
    from trivet.trying import TryRequest, guess_for, look_back  # noqa: PLC0415 - heavy rooms load when they are needed

    request = TryRequest(
        repo=door.cwd / args.repo, head=args.head, count=args.commits, config=None if args.config is None else door.cwd / args.config
    )
    if args.print_config:
        output.say(guess_for(request))
        return 0
    with progress.shown(args, door) as show:
        found = look_back(replace(request, show=show))
    output.say(json.dumps(_plain(found), indent=1) + "\n" if args.json else "\n".join(_text(found, every=args.all)) + "\n")
    return 0


def _plain(found: Tried) -> dict[str, object]:
    zones = found.policy.zones
    return {
        "head": found.head,
        "policy": {
            "source": found.policy.source,
            "digest": found.policy.digest,
            "guessed": bool(found.config),
            "zones": {name: list(getattr(zones, name)) for name in ("source", "oracle", "proposed", "inert", "control")},
        },
        "sealed_tests": found.sealed,
        "searched_for_skips": found.scanned,
        "unleased_skips": [{"path": site.file, "function": site.function, "line": site.line} for site in found.skips],
        "counts": found.counts(),
        "blocked_by": dict(found.reasons("blocked")),
        "owner_by": dict(found.reasons("needs an owner")),
        "commits": [
            {
                "commit": row.commit,
                "subject": row.subject,
                "word": row.word,
                "reasons": [{"rule": rule, "path": path} for rule, path in row.reasons],
            }
            for row in found.rows
        ],
    }


def _text(found: Tried, *, every: bool) -> Iterator[str]:
    from trivet.trying import WORDS  # noqa: PLC0415

    total = len(found.rows)
    yield f"{total} {'commit' if total == 1 else 'commits'} up to {found.head[:12]}, policy: {escape.line(found.policy.source)}"
    yield f"  production code  {_few(found.policy.zones.source)}"
    yield f"  sealed           {_few(found.policy.zones.oracle)}   {found.sealed} test files today"
    yield ""
    for word, count in found.counts().items():
        yield f"{word:17} {count:5}  {_share(count, total)}   {WORDS[word]}"
    yield from _why(found, "blocked", "why blocked")
    yield from _why(found, "needs an owner", "why an owner")
    paths = [(path, count) for path, count in found.paths("blocked") if path]
    if paths:
        yield "\npaths that block most"
        yield from (f"  {count:5}  {escape.name(path)}" for path, count in paths[:_SHOWN])
    rows = [row for row in found.rows if every or row.word in ("blocked", "cannot be judged")]
    if rows:
        yield "\nall commits" if every else "\nthe last that would be blocked"
        for row in rows if every else rows[:_SHOWN]:
            rules = " ".join(dict.fromkeys(rule for rule, _ in row.reasons))
            yield f"  {row.commit[:12]}  {row.word:17} {rules:15} {escape.line(row.subject, 80)}"
    yield ""
    yield from _advice(found)


def _why(found: Tried, word: Word, title: str) -> Iterator[str]:
    rows = found.reasons(word)
    if rows:
        yield f"\n{title}"
        for rule, count in rows:
            yield f"  {rule}  {count:5}  {_share(count, len(found.rows))}   {RULES[rule].title if rule in RULES else ''}"


def _advice(found: Tried) -> Iterator[str]:
    mixed = sum(any(rule in ("TRV101", "TRV102", "TRV108") for rule, _ in row.reasons) for row in found.rows if row.word == "blocked")
    if mixed:
        yield f"{mixed} of these hold two changes in one: `trivet split` makes two branches of such a change, each of which can be judged"
    if found.skips:
        some = ", ".join(f"{escape.name(site.file)}:{site.line}" for site in found.skips[:3])
        least = "" if found.scanned == found.sealed else "at least "
        yield f"{least}{len(found.skips)} sealed tests are skipped today, whatever the host ({some}):"
        yield "  `trivet lease adopt` gives each a dated lease"
    if not found.sealed:
        yield "no test is sealed: the gate blocks every patch until there is one"
    if found.config:
        yield "the policy is a guess: `trivet try --print-config` prints it; correct it, and try it again with --config FILE"
    yield "what would be scored was not run: whether it passes, `trivet gate` says"


def _few(patterns: tuple[str, ...]) -> str:
    more = f" and {len(patterns) - 6} more" if len(patterns) > 6 else ""  # noqa: PLR2004
    return escape.line(" ".join(patterns[:6])) + more


def _share(count: int, total: int) -> str:
    return f"{100 * count / total:3.0f} %"
