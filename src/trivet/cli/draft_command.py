"""Draft advisory tests for a failure, by any OpenAI-compatible endpoint. The draft lands in the proposed zone and decides nothing.

Before anything is sent, secrets, e-mail addresses, card and account numbers, the values of named fields (--field) and all that comes from
sealed files are taken out. --dry-run prints the exact bytes that would be sent, and sends nothing.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trivet.cli import Door, output
from trivet.errors import UsageError
from trivet.report import escape


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the work tree (default: here)")
    parser.add_argument("--trace", required=True, metavar="FILE", help="the trace of the failure; - reads standard input")
    parser.add_argument("--sample", type=Path, metavar="FILE", help="a sample of the failing input (JSON, JSON lines, CSV or text)")
    parser.add_argument("--source", type=Path, action="append", default=[], metavar="FILE", help="production code to send along")
    parser.add_argument("--field", action="append", default=[], metavar="NAME", help="take out the values of this field too")
    parser.add_argument("--name", default="", metavar="FILE", help="name of the draft, such as test_totals.py (default: from what is sent)")
    parser.add_argument("--url", metavar="URL", help="the endpoint, up to /v1 (default: OPENAI_BASE_URL)")
    parser.add_argument("--model", metavar="MODEL", help="the model (default: OPENAI_MODEL)")
    parser.add_argument("--key-env", default="OPENAI_API_KEY", metavar="VAR", help="variable that holds the key (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="S", help="seconds to wait for the answer (default: %(default)g)")
    parser.add_argument("--dry-run", action="store_true", help="print the exact bytes that would be sent, and send nothing")


def run(args: argparse.Namespace, door: Door) -> int:
    """Draft; 0 when the file is written, or when --dry-run has shown what would be sent."""
    from trivet.drafting import DraftRequest, draft, question  # noqa: PLC0415 - heavy rooms load when they are needed
    from trivet.drafting_endpoint import Endpoint  # noqa: PLC0415

    url, model = args.url or door.environ.get("OPENAI_BASE_URL", ""), args.model or door.environ.get("OPENAI_MODEL", "")
    if not url or not model:
        raise UsageError("an endpoint and a model are needed", hint="--url and --model, or OPENAI_BASE_URL and OPENAI_MODEL")
    proxies = {name: value for name in ("http", "https") if (value := _proxy(name, door))}
    request = DraftRequest(
        root=door.cwd / args.repo,
        endpoint=Endpoint(url=url, key=door.environ.get(args.key_env, ""), timeout_s=args.timeout, proxies=proxies),
        model=model,
        trace=_trace(args.trace, door),
        sample=None if args.sample is None else door.cwd / args.sample,
        sources=tuple(door.cwd / path for path in args.source),
        fields=tuple(args.field),
        name=args.name,
    )
    asked = question(request)
    taken = ", ".join(f"{count} {kind}" for kind, count in asked.taken) or "nothing"
    sys.stderr.write(f"POST {request.endpoint.target}  {len(asked.body)} bytes, key: {'yes' if request.endpoint.key else 'none'}\n")
    sys.stderr.write(f"taken out: {escape.line(taken)}\n")
    if args.dry_run:
        sys.stdout.flush()
        sys.stdout.buffer.write(asked.body)
        sys.stdout.buffer.flush()
        sys.stderr.write(f"dry run: nothing was sent; the draft would go to {asked.path}\n")
        return 0
    path = draft(request, asked)
    output.say(f"{path}\n")
    sys.stderr.write("next: read it, commit it, and see what it shows with `trivet advisory`\n")
    return 0


def _proxy(scheme: str, door: Door) -> str:
    return door.environ.get(f"{scheme}_proxy") or door.environ.get(f"{scheme.upper()}_PROXY", "")


def _trace(name: str, door: Door) -> str:
    from trivet.drafting import LIMIT_B  # noqa: PLC0415

    try:
        if name == "-":
            data = sys.stdin.buffer.read(LIMIT_B + 1)
        else:
            with (door.cwd / name).open("rb") as file:
                data = file.read(LIMIT_B + 1)
    except OSError as error:
        raise UsageError(f"the trace cannot be read: {error.strerror or error}", where=name) from error
    if len(data) > LIMIT_B:
        raise UsageError(f"the trace is longer than {LIMIT_B} bytes", where=name)
    if not data.strip():
        raise UsageError("the trace is empty", where=name)
    return data.decode("utf-8", "replace")
