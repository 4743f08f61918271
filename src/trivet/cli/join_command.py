"""AND the verdict files of one change, as separate CI jobs wrote them.

A leg whose files are missing was not run, which blocks. Files about different repositories, commits or policies are refused. With trusted
keys (--key, --keys or --keys-at) each verdict must be signed, about exactly this file, in the same session, and not be stale. The
decision, the summary and the JUnit file are written beside the verdict files; with --sign the join is signed as well.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trivet.cli import Door, output, trusting
from trivet.errors import UsageError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("folder", metavar="DIR", type=Path, help="the folder that holds the verdict files")
    parser.add_argument("--base", default="", metavar="OID", help="refuse verdicts that are not about this base commit")
    parser.add_argument("--head", default="", metavar="OID", help="refuse verdicts that are not about this head commit")
    parser.add_argument("--policy", default="", metavar="DIGEST", help="refuse verdicts that used another policy")
    parser.add_argument("--repository", default="", metavar="NAME", help="refuse verdicts that are about another repository")
    parser.add_argument("--max-age", type=float, metavar="SECONDS", help="refuse signed verdicts that are older (default: a day)")
    parser.add_argument("--repo", type=Path, metavar="DIR", help="the repository that --keys-at reads")
    trusting.arguments(parser)
    trusting.signing_arguments(parser)
    output.arguments(parser)


def run(args: argparse.Namespace, door: Door) -> int:
    """Join and tell."""
    from trivet.joining import MAX_AGE_S, Expected, join_folder  # noqa: PLC0415 - after the arguments are known to be good
    from trivet.report import files  # noqa: PLC0415

    output.reports(args)
    folder = door.cwd / args.folder
    for name in files.WHOLE:
        (folder / name).unlink(missing_ok=True)
    trust = trusting.opened(args, door) if trusting.asked(args) else None
    if args.session and trust is None and args.sign is None:
        raise UsageError("--session needs --sign, --key, --keys or --keys-at: what is not signed has none")
    signer = None if args.sign is None else trusting.signer_of(args, door)
    expected = Expected(
        repository=args.repository,
        base=args.base,
        head=args.head,
        policy=args.policy,
        session=args.session,
        max_age_s=MAX_AGE_S if args.max_age is None else args.max_age,
    )
    joined = join_folder(folder, expected=expected, trust=trust, now=door.now, root=trusting.root_of(args, door))
    if trust is None and any((folder / f"{files.stem(leg)}.dsse.json").exists() for leg in joined.present):
        sys.stderr.write("note: the signatures of the verdicts were not checked; say whose count with --key, --keys or --keys-at\n")
    envelopes = None
    if signer is not None:
        if trust is None:
            raise UsageError("--sign needs --key, --keys or --keys-at", hint="a join that is signed vouches for the signatures of its legs")
        from trivet.signing import decided  # noqa: PLC0415

        keys = {name: leg.key for name, leg in joined.legs.items()}
        envelopes = decided(
            joined.decision, signer, now=door.now, session=joined.session, vsa=args.vsa, legs=joined.statements(door.now), keys=keys,
            beside=joined.envelopes,
        )  # fmt: skip
    files.write(joined.decision, folder, keep=joined.present, envelopes=envelopes)
    return output.show(joined.decision, args, door)
