"""The door: argv to a command, its exit status back. Only this room sees argv, the environment and the clock.

A command is one module of this package with ``arguments(parser)`` and ``run(args, door) -> int``; it is imported when it is called.
``trivet --help`` and ``--version`` import nothing but this file and the table of commands.
"""

from __future__ import annotations

import os
import sys
import time

from trivet import __version__
from trivet.cli.table import COMMANDS
from trivet.errors import TrivetError, UsageError

TYPE_CHECKING = False  # what typing.TYPE_CHECKING is, without the time that importing typing takes
if TYPE_CHECKING:
    import argparse
    from pathlib import Path
    from types import FrameType, ModuleType

EXIT_STATUSES = "exit status: 0 may merge, 1 blocked, 2 usage or policy error, 3 could not judge (blocked as well)"


class Door:
    """What only the door may know: the one clock reading (seconds since the epoch), the caller's environment and folder."""

    __slots__ = ("environ", "folder", "now")

    def __init__(self, *, now: float, environ: dict[str, str], cwd: str | Path) -> None:
        self.now = now
        self.environ = environ
        self.folder = str(cwd)

    @property
    def cwd(self) -> Path:
        """The caller's folder; ``folder`` is its name, for commands that do without pathlib."""
        from pathlib import Path  # noqa: PLC0415 - verifying starts without it

        return Path(self.folder)


def main(argv: list[str]) -> int:
    """Run one command; every way out is an exit status, and every message says what, where and what to do."""
    if not argv or argv[0] in ("-h", "--help", "-V", "--version"):
        sys.stdout.write(f"trivet {__version__}\n" if argv and argv[0] in ("-V", "--version") else overview())
        return 0 if argv else 2
    try:
        return _dispatch(argv)
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


def _dispatch(argv: list[str]) -> int:
    import signal  # noqa: PLC0415 - not on the way to --help
    from contextlib import suppress  # noqa: PLC0415

    door = Door(now=time.time(), environ=dict(os.environ), cwd=os.getcwd())  # noqa: TID251, PTH109 - the one reading
    name = argv[0]
    if name not in COMMANDS:
        import difflib  # noqa: PLC0415 - only on this path

        near = difflib.get_close_matches(name, COMMANDS, 1)
        raise UsageError(f"no command {name!r}", hint=f"did you mean {near[0]!r}?" if near else "see `trivet --help`")
    module = load(name)
    try:
        parser = parser_of(name, module)
        # A command with optional words behind an action reads them wherever they stand among the options.
        args = (parser.parse_intermixed_args if getattr(module, "INTERMIXED", False) else parser.parse_args)(argv[1:])
    except SystemExit as stop:  # --help
        return int(stop.code or 0)
    except UsageError:
        if hasattr(module, "forget"):
            module.forget(argv[1:], door)
        raise
    before = None
    with suppress(ValueError):  # not the main thread: the caller's business
        before = signal.signal(signal.SIGTERM, _terminated)
    try:
        return int(module.run(args, door))
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def _terminated(_number: int, _frame: FrameType | None) -> None:
    """SIGTERM takes the same way out as Ctrl-C: everything that was started is ended, temporary files go."""
    raise KeyboardInterrupt


def load(name: str) -> ModuleType:
    """Import the module of one command."""
    import importlib  # noqa: PLC0415 - not on the way to --help

    return importlib.import_module("trivet.cli." + name.replace("-", "_") + "_command")


def parser_of(name: str, module: ModuleType) -> argparse.ArgumentParser:
    """Build the parser of one command."""
    from trivet.cli.parsing import Parser  # noqa: PLC0415 - not on the way to --help

    parser = Parser(name, description=module.__doc__, epilog=EXIT_STATUSES)
    module.arguments(parser)
    return parser


def overview() -> str:
    """The text of ``trivet --help``."""
    width = max(map(len, COMMANDS))
    rows = "\n".join(f"  {name:{width}}  {text}" for name, text in COMMANDS.items())
    return (
        "usage: trivet COMMAND [OPTION]...\n\n"
        "The merge gate for patches that coding agents write: three verdicts, joined by AND.\n\n"
        f"{rows}\n\n"
        "A first day: trivet init, then trivet seal, then trivet gate --base main --head BRANCH.\n"
        "trivet COMMAND --help tells more; trivet --version prints the version.\n"
        f"{EXIT_STATUSES}\n"
    )


def tell(error: TrivetError) -> None:
    """Write one error to standard error: what, where, what to do."""
    from trivet.report import escape  # noqa: PLC0415 - a message can quote a path of the patch

    lines = [f"error {error.code}: {escape.line(error.message)}"]
    if error.where:
        lines.append(f"    where  {escape.line(error.where)}")
    lines.append("    so     nothing was judged; the merge stays blocked")
    if error.hint:
        lines.append(f"    hint   {escape.line(error.hint)}")
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
    what = f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace").decode()[:500]
    lines = (f"error TRV-E99: a defect of trivet: {what}", "    so     nothing was judged; the merge stays blocked", f"    see    {where}")
    sys.stderr.write("\n".join(lines) + "\n")
    return 3
