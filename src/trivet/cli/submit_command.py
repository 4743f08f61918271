"""Ask a scoring service for a score of a commit, and wait for the answer with --wait.

The commits must be where the service fetches from (push first). The token comes from --token-file or the variable TRIVET_TOKEN. With
--wait the exit status and the last line are those of `trivet gate`; --out receives the words and decision.json.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from trivet.cli import Door
from trivet.errors import ClientError, ServiceError, UsageError
from trivet.model import LEGS


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--server", metavar="URL", help="address of the service (default: the variable TRIVET_SERVER)")
    parser.add_argument("--project", required=True, metavar="NAME", help="what the service calls the repository")
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="a clone that knows the commits (default: here)")
    parser.add_argument("--base", required=True, metavar="REV", help="the trusted commit")
    parser.add_argument("--head", default="HEAD", metavar="REV", help="the commit to judge (default: %(default)s)")
    parser.add_argument("--ref", default="", metavar="NAME", help="a name under which a newer head supersedes this one, such as a branch")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="a file with the token and nothing else")
    parser.add_argument("--wait", action="store_true", help="wait for the decision")
    parser.add_argument("--timeout", type=float, default=3600.0, metavar="S", help="seconds to wait (default: %(default)g)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="with --wait: where the words and decision.json go")
    parser.add_argument("--json", action="store_true", help="print the service's answer as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Ask, and wait if that is wanted."""
    from trivet.client import Client  # noqa: PLC0415 - the network is for this command alone

    if args.out is not None and not args.wait:
        raise UsageError("--out needs --wait: there is nothing to write before")
    if args.out is not None:
        from trivet.report import files  # noqa: PLC0415

        files.clear(door.cwd / args.out)
    base, head = (_oid(door.cwd / args.repo, rev) for rev in (args.base, args.head))
    server = args.server or door.environ.get("TRIVET_SERVER", "")
    if not server:
        raise UsageError("no address of a service", hint="name it with --server https://HOST, or set TRIVET_SERVER")
    try:
        with Client(server, token=_token(args, door)) as client:
            score = client.submit(args.project, base=base, head=head, ref=args.ref)
            if args.wait:
                score = client.wait(score.id, timeout_s=args.timeout, on_change=lambda score: _say(score.state))
            content = client.content(score.id, "decision.json") if args.out is not None and score.merge is not None else None
    except ClientError as error:
        raise ServiceError(error.message, where=error.where, hint=error.hint) from error
    answer = score.answer
    if content is not None:
        from trivet.report import files  # noqa: PLC0415

        files.replace(door.cwd / args.out / "decision.json", content)
        for leg in LEGS:
            files.replace(door.cwd / args.out / f"{files.stem(leg)}.txt", f"{_words(answer)[leg]}\n".encode())
    if args.json:
        sys.stdout.write(json.dumps(answer, indent=1) + "\n")
    elif not args.wait:
        sys.stdout.write(f"{answer['id']}\n")
    else:
        _tell(answer)
    return 0 if not args.wait else exit_status(answer)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _words(answer: Mapping[str, object]) -> dict[str, str]:
    verdicts = answer.get("verdicts")
    known = verdicts if isinstance(verdicts, dict) else {}
    words = {leg: str(known.get(leg)) for leg in LEGS}
    return {leg: word if word in ("PASS", "FAIL") else "NOT_RUN" for leg, word in words.items()}


def exit_status(answer: Mapping[str, object]) -> int:
    """0 may merge, 1 blocked, 3 no decision. Only three words of PASS and the service's own yes together are a yes."""
    words = _words(answer).values()
    if answer.get("merge") is True and answer.get("state") == "done" and all(word == "PASS" for word in words):
        return 0
    return 1 if answer.get("merge") is False and "FAIL" in words else 3


def _tell(answer: Mapping[str, object]) -> None:
    from trivet.report import escape  # noqa: PLC0415

    decision = answer.get("decision")
    verdicts = decision.get("verdicts", {}) if isinstance(decision, dict) else {}
    for leg, verdict in verdicts.items() if isinstance(verdicts, dict) else ():
        rows = verdict.get("findings", []) if isinstance(verdict, dict) else []
        for row in rows if isinstance(rows, list) else []:
            line = f":{row['line']}" if isinstance(row.get("line"), int) else ""
            where = f"{row['path']}{line}: " if row.get("path") else ""
            sys.stdout.write(escape.line(f"{leg}  {row.get('rule')}  {where}{row.get('message') or ''}") + "\n")
    if answer.get("problem"):
        sys.stdout.write(escape.line(f"problem: {answer['problem']}") + "\n")
    words = " ".join(_words(answer)[leg] for leg in LEGS)
    sys.stdout.write("MERGE_OK\n" if exit_status(answer) == 0 else f"MERGE_BLOCKED: {words}\n")


def _oid(repo: Path, rev: str) -> str:
    if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", rev):
        return rev
    from trivet.git import open_repository  # noqa: PLC0415

    with open_repository(repo) as repository:
        return repository.commit(rev).oid


def _token(args: argparse.Namespace, door: Door) -> str:
    if args.token_file is None:
        token = door.environ.get("TRIVET_TOKEN", "")
    else:
        try:
            token = (door.cwd / args.token_file).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the token cannot be read: {error}", where=str(args.token_file)) from error
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError("no token", hint="name a file with --token-file, or set TRIVET_TOKEN")
    return token
