"""Give agents tools to ask for scores and to read them: a server of the Model Context Protocol on standard input and output.

Address and token come from the operator, by options or by TRIVET_SERVER and TRIVET_TOKEN; an agent that calls a tool has no say in them.
The token should have the scopes submit and read for the repositories that the agent works on, and no others. Needs the extra trivet[mcp].

Example, as agents are configured: {"command": "trivet", "args": ["mcp", "--server", "https://scores.example", "--token-file", "token"]}
"""

from __future__ import annotations

import argparse
from pathlib import Path

from trivet.cli import Door
from trivet.errors import UsageError

_TOKEN_LIMIT = 8192


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--server", metavar="URL", help="where the scoring service is (default: TRIVET_SERVER)")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="a file with the token and nothing else (default: TRIVET_TOKEN)")
    parser.add_argument(
        "--repo", action="append", default=[], metavar="NAME", help="a repository that agents may name; repeatable"
    )


def run(args: argparse.Namespace, door: Door) -> int:
    """Serve until standard input ends."""
    url = args.server or door.environ.get("TRIVET_SERVER", "")
    if not url:
        raise UsageError("no scoring service is named", where="--server", hint="name it, or set TRIVET_SERVER")
    token = token_of(door.cwd / args.token_file) if args.token_file else door.environ.get("TRIVET_TOKEN", "")
    from trivet.agent_tools import server  # noqa: PLC0415 - after the arguments are known to be good
    from trivet.client import Client  # noqa: PLC0415

    Client(url, token=token).close()  # a wrong address is told here and not at the first call
    try:
        made = server(lambda: Client(url, token=token), repos=args.repo)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("trivet"):
            raise
        raise UsageError(f"the server for agents needs {error.name!r}", hint="pip install 'trivet[mcp]'") from None
    made.run()
    return 0


def token_of(path: Path) -> str:
    """The token that a file holds.

    Raises:
        UsageError: the file cannot be read or holds no token.
    """
    try:
        with path.open(encoding="utf-8") as opened:
            token = opened.read(_TOKEN_LIMIT).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the token file cannot be read: {error}", where=str(path)) from error
    if not token:
        raise UsageError("the token file is empty", where=str(path))
    return token
