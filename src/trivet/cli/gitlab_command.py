"""Review evidence, comment and commit statuses on GitLab.

In a job, address, project and merge request come from the job's own environment, and the token from TRIVET_GITLAB_TOKEN or GITLAB_TOKEN
(a job's own CI_JOB_TOKEN may do none of this). Nothing here decides: the exit status says whether the forge was told, not what.

Examples:
  trivet gitlab review --repo . --base "$BASE" --out review.json
  trivet gitlab comment --from ci_out
  trivet gitlab check --pending --number 7 ... then: trivet gitlab check --from ci_out --number 7
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from trivet.cli import Door, output
from trivet.cli import forge_options as options
from trivet.errors import UsageError

if TYPE_CHECKING:
    from trivet.forge.gitlab import GitLab

_TOKENS = ("TRIVET_GITLAB_TOKEN", "GITLAB_TOKEN")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    review, comment, check = options.verbs(parser)
    for verb in (review, comment, check):
        verb.add_argument("--project", metavar="ID", help="number or path of the project (default: CI_PROJECT_ID)")
        verb.add_argument("--number", type=int, metavar="IID", help="the merge request (default: CI_MERGE_REQUEST_IID)")
    check.add_argument("--status-check", type=int, metavar="ID", help="answer this external status check as well")
    check.add_argument("--target", default="", metavar="BRANCH", help="the branch that was judged (default: that of the job)")


def run(args: argparse.Namespace, door: Door) -> int:
    """Do what the verb says."""
    number = _number(args, door)
    decision = None if args.verb == "review" or getattr(args, "pending", False) else options.decision_in(args, door)
    forge = _forge(args, door)
    with forge.wire:
        subject = forge.subject(number)
        if args.verb == "review":
            teams = [*args.team]
            if args.repo is not None:
                from trivet.git import open_repository  # noqa: PLC0415 - each verb loads what it needs
                from trivet.reviewing import named_teams  # noqa: PLC0415

                with open_repository(door.cwd / args.repo) as repository:
                    teams += named_teams(repository, args.base or subject.base)
            evidence = forge.complete(subject, forge.approvals(subject), tuple(teams))
            return options.write_evidence(evidence, args, door, output.say)
        if decision is None:
            return options.tell(forge.begin(subject), "statuses", output.say)
        wanted = getattr(args, "target", "") or door.environ.get("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "")
        stale = options.same_target(subject, decision, wanted)
        from trivet.forge.standing import judged_head  # noqa: PLC0415

        if not stale and judged_head(decision) != subject.head:
            stale = f"the head has moved on to {subject.head[:12]}"
        if stale:
            output.say(f"not published: {stale}\n")
            return 3
        if args.verb == "comment":
            return options.tell(forge.comment(subject, decision, always=args.always), "comment", output.say)
        return options.tell(forge.finish(subject, decision), "statuses", output.say)


def _number(args: argparse.Namespace, door: Door) -> int:
    text = str(args.number or door.environ.get("CI_MERGE_REQUEST_IID", ""))
    if not text.isdigit():
        raise UsageError("which merge request this is about is not known", hint="--number IID, or a merge request pipeline")
    return int(text)


def _forge(args: argparse.Namespace, door: Door) -> GitLab:
    from trivet.forge.gitlab import GitLab  # noqa: PLC0415 - brings the HTTP library

    return GitLab(
        options.given(args.api, door, ("CI_API_V4_URL",), "the address of the API", "--api URL"),
        options.given(args.project, door, ("CI_PROJECT_ID",), "the project", "--project ID"),
        token=options.token_of(args, door, _TOKENS),
        status_check=getattr(args, "status_check", None),
        details=getattr(args, "details", ""),
    )
