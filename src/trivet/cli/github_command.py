"""Review evidence, comment and checks on GitHub.

In a workflow, address, repository and event come from the job's own environment, and the token from GITHUB_TOKEN. Nothing here decides:
the exit status of these commands says whether the forge was told, not what.

Examples:
  trivet github review --repo . --base "$BASE" --out review.json
  trivet github comment --from ci_out
  trivet github check --pending --number 7 ... then: trivet github check --from ci_out --number 7
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trivet.cli import Door, output
from trivet.cli import forge_options as options
from trivet.errors import TrivetError, UsageError
from trivet.forge.words import Evidence, Subject

if TYPE_CHECKING:
    from trivet.forge.github import GitHub

_TOKENS = ("TRIVET_GITHUB_TOKEN", "GITHUB_TOKEN", "GH_TOKEN")
_ACTIONS_LOGIN = "github-actions[bot]"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    for verb in options.verbs(parser):
        verb.add_argument("--repository", metavar="OWNER/NAME", help="the repository (default: GITHUB_REPOSITORY)")
        verb.add_argument("--number", type=int, metavar="N", help="the pull request (default: that of the event)")
        verb.add_argument("--event", type=Path, metavar="FILE", help="the event that started the job (default: GITHUB_EVENT_PATH)")
        verb.add_argument("--login", default="", metavar="NAME", help="who the token speaks as, such as my-app[bot]")
        verb.add_argument("--app", default="", metavar="ID", help="the number of the App that the token belongs to")


def run(args: argparse.Namespace, door: Door) -> int:
    """Do what the verb says."""
    return {"review": _review, "comment": _comment, "check": _check}[args.verb](args, door)


def _review(args: argparse.Namespace, door: Door) -> int:
    forge, subject = _forge(args, door), _event_subject(args, door)
    with forge.wire:
        if subject.number is None:
            evidence = _queued(args, door, forge, subject)
        else:
            subject = forge.subject(subject.number)
            evidence = forge.approvals(subject)
        evidence = forge.complete(subject, evidence, (*args.team, *_teams(args, door, subject)))
    return options.write_evidence(evidence, args, door, output.say)


def _queued(args: argparse.Namespace, door: Door, forge: GitHub, queued: Subject) -> Evidence:
    """Approvals of the pull request behind an entry of the merge queue, where the entry holds it and nothing else."""
    from trivet.forge.standing import queued_number  # noqa: PLC0415
    from trivet.git import open_repository  # noqa: PLC0415
    from trivet.reviewing import carried  # noqa: PLC0415

    number = queued_number(queued)
    if number is None or args.repo is None:
        hint = "with --repo DIR the approvals of the pull request count where the entry holds it and nothing else"
        raise UsageError("an entry of the merge queue has no approvals of its own", where=queued.queue_ref, hint=hint)
    pull = forge.subject(number)
    evidence = forge.approvals(pull)
    with open_repository(door.cwd / args.repo) as repository:
        try:
            return carried(repository, queued, pull, evidence)
        except TrivetError as error:  # what was approved is not in this clone, so what stands in the queue cannot be compared with it
            output.say(f"the approvals of #{number} do not count in the queue: {error.message}\n")
            return replace(evidence, approvals=())


def _teams(args: argparse.Namespace, door: Door, subject: Subject) -> tuple[str, ...]:
    if args.repo is None:
        return ()
    from trivet.git import open_repository  # noqa: PLC0415 - each verb loads what it needs
    from trivet.reviewing import named_teams  # noqa: PLC0415

    with open_repository(door.cwd / args.repo) as repository:
        return named_teams(repository, args.base or subject.base)


def _comment(args: argparse.Namespace, door: Door) -> int:
    decision = options.decision_in(args, door)
    forge, subject = _forge(args, door), _event_subject(args, door)
    if subject.number is None:
        output.say("comment: an entry of the merge queue has no page\n")
        return 0
    from trivet.forge.standing import judged_head, moved_on  # noqa: PLC0415

    with forge.wire:
        now = forge.subject(subject.number)
        stale = moved_on(Subject(number=now.number, head=judged_head(decision), base=now.base, base_ref=now.base_ref), now)
        if stale:
            output.say(f"not published: {stale}\n")
            return 3
        return options.tell(forge.comment(now, decision, always=args.always), "comment", output.say)


def _check(args: argparse.Namespace, door: Door) -> int:
    decision = None if args.pending else options.decision_in(args, door)
    forge, asked = _forge(args, door), _event_subject(args, door)
    with forge.wire:
        subject = asked if asked.number is None else forge.subject(asked.number)
        if decision is None:
            return options.tell(forge.begin(subject), "checks", output.say)
        elsewhere = options.same_target(subject, decision, asked.base_ref)
        if elsewhere:
            output.say(f"not published: {elsewhere}\n")
            return 3
        return options.tell(forge.finish(subject, decision), "checks", output.say)


def _forge(args: argparse.Namespace, door: Door) -> GitHub:
    from trivet.forge.github import GitHub  # noqa: PLC0415 - brings the HTTP library

    login = args.login or (_ACTIONS_LOGIN if door.environ.get("GITHUB_ACTIONS") == "true" else "")
    return GitHub(
        options.given(args.api, door, ("GITHUB_API_URL",), "the address of the API", "--api URL"),
        options.given(args.repository, door, ("GITHUB_REPOSITORY",), "the repository", "--repository OWNER/NAME"),
        token=options.token_of(args, door, _TOKENS),
        login=login,
        app=args.app,
        details=getattr(args, "details", ""),
    )


def _event_subject(args: argparse.Namespace, door: Door) -> Subject:
    """What the job is about: ``--number``, else the event; an event says which branch the job was started for."""
    from trivet.forge.events import document, github_payload, queue_subject  # noqa: PLC0415
    from trivet.forge.standing import pull_subject  # noqa: PLC0415

    path = args.event or (Path(door.environ["GITHUB_EVENT_PATH"]) if door.environ.get("GITHUB_EVENT_PATH") else None)
    data = {}
    if path is not None and (args.number is None or args.event is not None):
        try:
            data = document((door.cwd / path).read_bytes())
        except OSError as error:
            raise UsageError(f"the event cannot be read: {error.strerror or error}", where=str(path)) from error
    if "merge_group" in data and args.number is None:
        return queue_subject(data["merge_group"])
    if isinstance(data.get("pull_request"), dict):
        found = pull_subject(data["pull_request"])
        if args.number in (None, found.number):
            return found
    if args.number is None:
        name = door.environ.get("GITHUB_EVENT_NAME", "the event")
        number = github_payload(name, "-", data).number if data else None
        if number is None:
            raise UsageError("which pull request this is about is not known", hint="--number N, or an event of a pull request")
        args.number = number
    return Subject(number=args.number, head="", base="", base_ref="")
