"""What a forge says about a branch's protection, for `trivet doctor`: from exported files, or asked with the caller's token."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from trivet.cli import Door
from trivet.errors import UsageError

LIMIT_B = 5_000_000


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--check", default="trivet/join", metavar="NAME", help="the required check (default: %(default)s)")
    parser.add_argument("--branch", metavar="NAME", help="the protected branch (default: main; with --forge the default branch)")
    parser.add_argument(
        "--ruleset", type=Path, action="append", default=[], metavar="FILE", help="an exported ruleset or branch protection, as JSON"
    )
    parser.add_argument("--forge", choices=("github", "gitlab"), help="ask the forge; needs a token that may read the settings")
    parser.add_argument("--repository", metavar="NAME", help="the repository or project there (default: from the CI's environment)")
    parser.add_argument("--api", metavar="URL", help="address of the API (default: the CI's own variable)")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="a file that holds the token (default: the environment)")


def rules(args: argparse.Namespace, door: Door) -> tuple[object, ...] | None:
    """The documents about the branch, None where nobody asked for any; the branch's name is filled in where the forge knows it."""
    found: list[object] = [_read(door.cwd / path) for path in args.ruleset]
    if args.forge == "github":
        found += _github(args, door)
    elif args.forge == "gitlab":
        found += _gitlab(args, door)
    return tuple(found) if found or args.forge else None


def _read(path: Path) -> object:
    try:
        data = path.read_bytes()
        if len(data) > LIMIT_B:
            raise UsageError(f"more than {LIMIT_B} bytes", where=str(path))
        return json.loads(data)
    except OSError as error:
        raise UsageError(f"the ruleset cannot be read: {error.strerror or error}", where=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the ruleset is no JSON: {error}", where=str(path)) from error


def _github(args: argparse.Namespace, door: Door) -> list[object]:
    from trivet.cli import forge_options as options  # noqa: PLC0415 - only who asks a forge
    from trivet.forge.github import GitHub  # noqa: PLC0415

    forge = GitHub(
        options.given(args.api, door, ("GITHUB_API_URL",), "the address of the API", "--api URL"),
        options.given(args.repository, door, ("GITHUB_REPOSITORY",), "the repository", "--repository OWNER/NAME"),
        token=options.token_of(args, door, ("TRIVET_GITHUB_TOKEN", "GITHUB_TOKEN", "GH_TOKEN")),
    )
    with forge.wire:
        args.branch = args.branch or forge.default_branch()
        # What is in force for the branch, organisation included; the repository's own rulesets say in addition who may pass them.
        return [forge.branch_rules(args.branch), *forge.rulesets()]


def _gitlab(args: argparse.Namespace, door: Door) -> list[object]:
    from trivet.cli import forge_options as options  # noqa: PLC0415 - only who asks a forge
    from trivet.forge.gitlab import GitLab  # noqa: PLC0415

    forge = GitLab(
        options.given(args.api, door, ("CI_API_V4_URL",), "the address of the API", "--api URL"),
        options.given(args.repository, door, ("CI_PROJECT_ID",), "the project", "--repository ID"),
        token=options.token_of(args, door, ("TRIVET_GITLAB_TOKEN", "GITLAB_TOKEN")),
    )
    with forge.wire:
        project, branches = forge.settings()
        args.branch = args.branch or str(project.get("default_branch") or "main")
        return [project, branches]
