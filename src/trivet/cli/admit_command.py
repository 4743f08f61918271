"""Judge an oracle change: who stands behind it, is head in step, can its new properties refuse.

An oracle change moves oracle or control paths and no production code. It needs an owner of base's CODEOWNERS (--review: what a trusted
job took from the forge) or commits signed by a key of base's signers file.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from trivet.cli import Door, output, progress, trusting
from trivet.model import LEGS


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the repository (default: here)")
    parser.add_argument("--base", required=True, metavar="REV", help="the trusted commit")
    parser.add_argument("--head", required=True, metavar="REV", help="the oracle change")
    parser.add_argument("--review", type=Path, metavar="FILE", help="JSON evidence of authorship and approvals, made by a trusted job")
    parser.add_argument("--python", metavar="EXE", help="the project's interpreter (default: the policy's)")
    parser.add_argument("--out", type=Path, default=Path("ci_out"), metavar="DIR", help="where the verdict files go (default: ci_out)")
    parser.add_argument("--no-cache", action="store_true", help="use and keep no records of earlier runs")
    parser.add_argument("--repository", default="", metavar="NAME", help="the name of the repository, such as its URL; tells forks apart")
    trusting.signing_arguments(parser)
    output.arguments(parser)
    progress.arguments(parser)


def run(args: argparse.Namespace, door: Door) -> int:
    """Judge one oracle change and write its files."""
    from trivet.admission import AdmitRequest, judge  # noqa: PLC0415 - heavy rooms load when they are needed
    from trivet.report import files  # noqa: PLC0415

    out = door.cwd / args.out
    output.reports(args)
    files.clear(out)
    signer = trusting.signer_of(args, door)
    home = door.environ.get("XDG_CACHE_HOME") or str(Path(door.environ.get("HOME", "/nonexistent")) / ".cache")
    request = AdmitRequest(
        repo=door.cwd / args.repo,
        base=args.base,
        head=args.head,
        now=door.now,
        python=args.python,
        review=None if args.review is None else door.cwd / args.review,
        cache=None if args.no_cache else Path(home) / "trivet",
        key_file=trusting.key_file(args, door),
    )
    with progress.shown(args, door) as show:
        decision = judge(replace(request, show=show))
    if args.repository:
        decision = replace(decision, facts={**decision.facts, "repository": args.repository})
    envelopes = None
    if signer is not None:
        from trivet.signing import envelopes as signed  # noqa: PLC0415

        envelopes = signed(decision, LEGS, signer, now=door.now, session=args.session, vsa=args.vsa)
    files.write(decision, out, envelopes=envelopes)
    return output.show(decision, args, door)
