"""The door: argv to a command, its exit status back. Only this room sees argv, the environment and the clock.

A command is one module of this package with ``arguments(parser)`` and ``run(args, door) -> int``; it is imported when it is called,
so that ``trivet --help`` stays quick.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from trivet import __version__
from trivet.cli.table import COMMANDS
from trivet.errors import TrivetError, UsageError

EXIT_STATUSES = "exit status: 0 may merge, 1 blocked, 2 usage or policy error, 3 could not judge (blocked as well)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """What only the door may know: the one clock reading (seconds since the epoch), the caller's environment and folder."""

    now: float
    environ: dict[str, str]
    cwd: Path


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see `{self.prog} --help`")


def main(argv: list[str]) -> int:
    """Run one command; every way out is an exit status, and every message says what, where and what to do."""
    door = Door(now=time.time(), environ=dict(os.environ), cwd=Path.cwd())  # noqa: TID251 - the one reading
    try:
        return _dispatch(argv, door)
    except TrivetError as error:
        tell(error)
        return error.exit_status
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: nothing was judged, the merge stays blocked\n")
        return 3
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 3
    except Exception as error:  # noqa: BLE001 - a bug: fail closed, with one line and a crash file
        return _crashed(error)


def _dispatch(argv: list[str], door: Door) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        sys.stdout.write(overview())
        return 0 if argv else 2
    if argv[0] in ("-V", "--version"):
        sys.stdout.write(f"trivet {__version__}\n")
        return 0
    name = argv[0]
    if name not in COMMANDS:
        import difflib  # noqa: PLC0415 - only on this path

        near = difflib.get_close_matches(name, COMMANDS, 1)
        raise UsageError(f"no command {name!r}", hint=f"did you mean {near[0]!r}?" if near else "see `trivet --help`")
    module = load(name)
    parser = parser_of(name, module)
    try:
        args = parser.parse_args(argv[1:])
    except SystemExit as stop:  # --help
        return int(stop.code or 0)
    return int(module.run(args, door))


def load(name: str) -> ModuleType:
    """Import the module of one command."""
    return importlib.import_module("trivet.cli." + name.replace("-", "_") + "_command")


def parser_of(name: str, module: ModuleType) -> argparse.ArgumentParser:
    """Build the parser of one command."""
    parser = _Parser(
        prog=f"trivet {name}",
        description=module.__doc__,
        epilog=EXIT_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.arguments(parser)
    return parser


def overview() -> str:
    """The text of ``trivet --help``."""
    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name:{width}}  {text}" for name, text in COMMANDS.items())
    return (
        "usage: trivet COMMAND [OPTION]...\n\n"
        "The merge gate for patches that coding agents write: three verdicts, joined by AND.\n\n"
        f"{rows}\n\n  trivet COMMAND --help tells more; trivet --version prints the version.\n{EXIT_STATUSES}\n"
    )


def tell(error: TrivetError) -> None:
    """Write one error to standard error: what, where, what to do."""
    lines = [f"error {error.code}: {error.message}"]
    if error.where:
        lines.append(f"    where  {error.where}")
    lines.append("    so     nothing was judged; the merge stays blocked")
    if error.hint:
        lines.append(f"    hint   {error.hint}")
    sys.stderr.write("\n".join(lines).encode("utf-8", "backslashreplace").decode() + "\n")


def _crashed(error: Exception) -> int:
    import platform  # noqa: PLC0415 - only when something is broken
    import tempfile  # noqa: PLC0415
    import traceback  # noqa: PLC0415

    text = f"trivet {__version__}, Python {platform.python_version()}, {platform.platform()}\n" + "".join(traceback.format_exception(error))
    where = "no crash file could be written"
    try:
        with tempfile.NamedTemporaryFile("w", prefix="trivet-crash-", suffix=".txt", delete=False, encoding="utf-8") as file:
            file.write(text)
            where = file.name
    except OSError:
        sys.stderr.write(text)
    sys.stderr.write(f"error TRV-E99: a defect of trivet: {type(error).__name__}: {error}\n    so     nothing was judged; the merge stays blocked\n    see    {where}\n")
    return 3
