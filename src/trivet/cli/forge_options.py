"""What `trivet github` and `trivet gitlab` share: address, token, event and decision; all of them given by the caller."""

from __future__ import annotations

import argparse
import json
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from trivet.cli import Door
from trivet.errors import OutputError, UsageError
from trivet.forge.words import Evidence, Published, Subject
from trivet.model import Decision

TOKEN_LIMIT_B = 20_000


class Verb(argparse.ArgumentParser):
    """The parser of one verb, with our way of saying that a call is wrong."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the call. Raises: UsageError."""
        raise UsageError(message, hint=f"see `{self.prog} --help`")


def verbs(parser: argparse.ArgumentParser) -> tuple[argparse.ArgumentParser, ...]:
    """Declare review, comment and check, with what they share."""
    made = parser.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=Verb)
    review = made.add_parser("review", help="write the review evidence of a change: its author, approvals, members of teams")
    comment = made.add_parser("comment", help="write the one comment of a change, or bring it up to date")
    check = made.add_parser("check", help="publish the verdicts and the join")
    for verb in (review, comment, check):
        verb.add_argument("--api", metavar="URL", help="address of the API (default: the CI's own variable)")
        verb.add_argument("--token-file", type=Path, metavar="FILE", help="a file that holds the token (default: the environment)")
    review.add_argument("--repo", type=Path, metavar="DIR", help="a clone with base: its CODEOWNERS says which teams to look up")
    review.add_argument("--base", metavar="REV", help="the trusted commit (with --repo; default: as the forge says)")
    review.add_argument("--team", action="append", default=[], metavar="TEAM", help="one more team whose members are looked up")
    review.add_argument("--out", type=Path, metavar="FILE", help="where the evidence goes (default: standard output)")
    for verb in (comment, check):
        verb.add_argument("--from", dest="folder", type=Path, default=Path("ci_out"), metavar="DIR", help="verdict files (default: ci_out)")
    comment.add_argument("--always", action="store_true", help="comment on a change that may merge even where there is no comment yet")
    check.add_argument("--pending", action="store_true", help="show that the change is being judged, and nothing else")
    check.add_argument("--details", default="", metavar="URL", help="where people find more")
    return review, comment, check


def token_of(args: argparse.Namespace, door: Door, names: Sequence[str]) -> Callable[[], str]:
    """The token: read anew from its file each time (it may be renewed), or from the environment.

    Raises:
        UsageError: there is none.
    """
    if args.token_file is not None:
        path = door.cwd / args.token_file
        _read_token(path)
        return lambda: _read_token(path)
    found = next((door.environ[name].strip() for name in names if door.environ.get(name, "").strip()), "")
    if not found:
        raise UsageError("no token for the forge", hint=f"--token-file FILE, or one of {', '.join(names)} in the environment")
    _refuse_odd(found, "the environment")
    return lambda: found


def _read_token(path: Path) -> str:
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > TOKEN_LIMIT_B:
            raise UsageError("not a token file", where=str(path))
        found = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the token file cannot be read: {getattr(error, 'strerror', '') or 'not text'}", where=str(path)) from None
    _refuse_odd(found, str(path))
    return found


def _refuse_odd(token: str, where: str) -> None:
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError("a token is one word of ASCII", where=where)


def given(value: str | None, door: Door, names: Sequence[str], what: str, option: str) -> str:
    """An option, or the first variable of the environment that is set.

    Raises:
        UsageError: neither is there.
    """
    found = value or next((door.environ[name] for name in names if door.environ.get(name)), "")
    if not found:
        raise UsageError(f"{what} is not known", hint=f"{option}, or {' or '.join(names)} in the environment")
    return found


def decision_in(args: argparse.Namespace, door: Door) -> Decision:
    """The decision of a folder; its words and its JSON must agree."""
    from trivet.report import files  # noqa: PLC0415 - loaded when it is needed

    return files.read(door.cwd / args.folder)


def judged_base(decision: Decision) -> str:
    """The commit that counted as base, "" where the decision does not say."""
    base = decision.facts.get("base")
    return str(base.get("commit") or "") if isinstance(base, dict) else ""


def same_target(subject: Subject, decision: Decision, wanted: str) -> str:
    """Why the change no longer goes where it was judged for, "" where it does.

    ``wanted`` is the branch that the job was started for; without it base's commit itself must be the one that the forge names.
    """
    if wanted:
        return "" if subject.base_ref == wanted else f"the change now goes into {subject.base_ref}, not {wanted}"
    base = judged_base(decision)
    return "" if base == subject.base else f"it was judged against {base[:12] or 'no commit'}, the forge's base is {subject.base[:12]}"


def write_evidence(evidence: Evidence, args: argparse.Namespace, door: Door, say: Callable[[str], None]) -> int:
    """Write review evidence as `--review` reads it."""
    text = json.dumps(evidence.document(), indent=1) + "\n"
    if args.out is None:
        say(text)
        return 0
    from trivet.report import files  # noqa: PLC0415 - loaded when it is needed

    path = door.cwd / args.out
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace(path, text.encode())
    except OSError as error:
        raise OutputError(f"the evidence cannot be written: {error.strerror or error}", where=str(path)) from error
    who = ", ".join(f"{login} approved {commit[:12]}" for login, commit in evidence.approvals) or "no approvals"
    empty = [team for team, members in evidence.teams if not members]
    say(f"author {evidence.author}; {who}\n" + "".join(f"no member of {team} can be seen: it counts for nobody\n" for team in empty))
    return 0


def tell(published: Published, what: str, say: Callable[[str], None]) -> int:
    """Say what was published; 3 where the decision was no longer of use."""
    if published.stale:
        say(f"not published: {published.stale}\n")
        return 3
    say(f"{what}: " + (", ".join(published.wrote) if published.wrote else "nothing to change") + "\n")
    return 0
