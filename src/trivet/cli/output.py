"""What the commands that decide share: where files go, how the decision is shown, and the exit status."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trivet.cli import Door
from trivet.errors import OutputError, UsageError
from trivet.model import Decision
from trivet.quick import warn
from trivet.report import FORMATS, files, render

__all__ = ["SHOWN", "arguments", "cache_of", "exit_status", "reports", "say", "show", "warn"]

SHOWN = ("text", "json", "markdown", "github")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--format``, ``--json`` and ``--report`` to a command."""
    parser.add_argument("--format", choices=SHOWN, default="text", help="what to print on standard output (default: %(default)s)")
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="print the decision as JSON")
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="FORMAT=FILE",
        help=f"write one more report, several times if need be; formats: {', '.join(FORMATS)}",
    )


def reports(args: argparse.Namespace) -> tuple[tuple[str, Path], ...]:
    """The reports that were asked for; call it before judging, so that a misspelt format is told at once.

    Raises:
        UsageError: not ``FORMAT=FILE`` with a known format.
    """
    wanted = []
    for item in args.report:
        form, equals, file = item.partition("=")
        if not equals or not file or form not in FORMATS:
            raise UsageError(f"--report takes FORMAT=FILE, not {item!r}", hint="formats: " + ", ".join(FORMATS))
        wanted.append((form, Path(file)))
    return tuple(wanted)


def show(decision: Decision, args: argparse.Namespace, door: Door) -> int:
    """Write the reports, print the decision, and give the exit status.

    Raises:
        OutputError: a report could not be written.
    """
    for form, file in reports(args):
        path = door.cwd / file
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            files.replace(path, render(form, decision).encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise OutputError(f"the report cannot be written: {error.strerror or error}", where=str(path)) from error
    say(_text(decision, args, door))
    return exit_status(decision)


def _text(decision: Decision, args: argparse.Namespace, door: Door) -> str:
    if args.format == "text":
        from trivet.report import terminal  # noqa: PLC0415 - only for people

        return terminal.render(decision, colour=terminal.wants_colour(door.environ, tty=sys.stdout.isatty()))
    return render(args.format, decision)


def say(text: str) -> None:
    """Print on standard output, whatever its encoding can hold."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def cache_of(door: Door) -> Path:
    """The folder in which this user keeps records of runs."""
    return Path(door.environ.get("XDG_CACHE_HOME") or str(Path(door.environ.get("HOME") or "/nonexistent") / ".cache")) / "trivet"

def exit_status(decision: Decision) -> int:
    """0 may merge, 1 blocked, 3 could not judge: no leg objects, and one could not be run for reasons outside the change."""
    if decision.merge:
        return 0
    if any(verdict.status == "FAIL" for verdict in decision.verdicts):
        return 1
    return 3 if any(verdict.cause == "infra" for verdict in decision.verdicts) else 1
