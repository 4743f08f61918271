"""Run the agent's own tests of HEAD and tell what they show: a report, never a verdict.

The tests run on head's tree behind the wall, never together with the sealed oracles. The exit status does not depend on their outcome.
With --junit a file that another job made is summarised instead.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path

from trivet.cli import Door, output, progress
from trivet.errors import UsageError
from trivet.model import AdvisoryReport
from trivet.report import escape


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the repository (default: here)")
    parser.add_argument("--base", metavar="REV", help="the trusted commit")
    parser.add_argument("--head", metavar="REV", help="the commit whose proposed tests run")
    parser.add_argument("--python", metavar="EXE", help="the project's interpreter (default: the policy's)")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="summarise this JUnit file instead of running anything")
    parser.add_argument("--summary", type=Path, metavar="FILE", help="also write the report as Markdown")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    progress.arguments(parser)


def run(args: argparse.Namespace, door: Door) -> int:
    """Report; always 0 when the lane could be looked at."""
    found = _report(args, door)
    if args.summary is not None:
        (door.cwd / args.summary).write_text(_markdown(found), "utf-8", "backslashreplace")
    if args.json:
        output.say(json.dumps(None if found is None else {**asdict(found), "counts": dict(found.counts)}) + "\n")
    else:
        output.say(_text(found))
    return 0


def _report(args: argparse.Namespace, door: Door) -> AdvisoryReport | None:
    if args.junit is not None:
        from trivet.advisory_junit import read_junit  # noqa: PLC0415 - needs nothing else

        return read_junit(door.cwd / args.junit)
    if not args.base or not args.head:
        raise UsageError("--base and --head are needed, or --junit FILE")
    from trivet.advisory import AdvisoryRequest, report  # noqa: PLC0415 - heavy rooms load when they are needed

    request = AdvisoryRequest(
        repo=door.cwd / args.repo,
        base=args.base,
        head=args.head,
        python=args.python,
    )
    with progress.shown(args, door) as show:
        return report(replace(request, show=show))


def _text(found: AdvisoryReport | None) -> str:
    if found is None:
        return "advisory: head has no proposed tests\n"
    lines = ["advisory (decides nothing): " + (", ".join(f"{count} {word}" for word, count in found.counts) or "no test ran")]
    if found.coverage is not None:
        lines.append(f"  changed lines covered: {100 * found.coverage:.0f} %")
    lines += [f"  note  {escape.line(note, 500)}" for note in found.notes]
    lines += [f"  {escape.line(word, 400):14} {escape.name(name)}" for name, word in found.tests]
    return "\n".join(lines) + "\n"


def _markdown(found: AdvisoryReport | None) -> str:
    if found is None:
        return "## Advisory lane\n\nHead has no proposed tests.\n"
    rows = ["## Advisory lane", "", "It decides nothing.", "", "| count | what |", "|---|---|"]
    rows += [f"| {count} | {escape.markdown(word)} |" for word, count in found.counts]
    if found.coverage is not None:
        rows += ["", f"Changed lines covered: {100 * found.coverage:.0f} %"]
    rows += ["", *(f"- {escape.markdown(note, 500)}" for note in found.notes)] if found.notes else []
    rows += ["", *(f"- {escape.code(escape.name(name))} {escape.markdown(word, 400)}" for name, word in found.tests)] if found.tests else []
    return "\n".join(rows) + "\n"
