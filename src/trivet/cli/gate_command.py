"""Judge a change: src-score, oracle-integrity and flake-lease, joined by AND.

Policy, oracles, ledger and owners are read from BASE alone; of HEAD only the source zone is run. The verdict files go to --out. With the
text format the last line on standard output is MERGE_OK or MERGE_BLOCKED: <flake_lease> <oracle_integrity> <src_score>.
"""

from __future__ import annotations

import argparse
import itertools
import signal
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from trivet.cli import Door, output, progress, trusting
from trivet.errors import TrivetError, UsageError
from trivet.model import LEGS, Decision, Finding, LegName, Verdict

if TYPE_CHECKING:
    from trivet.gate import GateRequest


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``trivet gate``."""
    change_arguments(parser)
    parser.add_argument(
        "--review", type=Path, metavar="FILE", help="JSON evidence of authorship and approvals, taken from the forge by a trusted job"
    )
    trusting.signing_arguments(parser)
    parser.add_argument("--no-advisory", action="store_true", help="do not run the proposed tests (they never decide anything)")
    output.arguments(parser)
    progress.arguments(parser)


def change_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what every command that judges a change needs."""
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="a clone, a worktree or a bare repository (default: here)")
    parser.add_argument("--base", required=True, metavar="REV", help="the trusted commit")
    parser.add_argument("--head", required=True, metavar="REV", help="the commit to judge")
    parser.add_argument("--repository", default="", metavar="NAME", help="the name of the repository, such as its URL; tells forks apart")
    parser.add_argument("--out", type=Path, default=Path("ci_out"), metavar="DIR", help="where the verdict files go (default: %(default)s)")
    parser.add_argument(
        "--python", metavar="EXE", help="the project's interpreter, with its test requirements (default: the policy's score.python)"
    )
    parser.add_argument("--isolation", choices=("auto", "shared", "split"), help="where production code runs (default: the policy's)")
    parser.add_argument("--controls", choices=("all", "sample", "off"), help="negative controls (default: the policy's)")
    parser.add_argument("--wall", choices=("auto", "kernel", "bubblewrap"), help="which wall to raise (default: the policy's)")
    parser.add_argument(
        "--vary", action="store_true", help="repeat the run under another clock, hash seed, process id, order and core count"
    )
    parser.add_argument("--reruns", type=int, metavar="N", help="run a red run again at least this often")
    parser.add_argument("--no-cache", action="store_true", help="neither use nor keep records of earlier runs")


def run(args: argparse.Namespace, door: Door) -> int:
    """Judge one change and write its files; the exit status says what was decided."""
    return judge_and_tell(args, door, LEGS)


def forget(argv: list[str], door: Door, legs: tuple[LegName, ...] = LEGS) -> None:
    """Clear the folder that a call names which is wrong otherwise: a word of an earlier run must not outlive this one."""
    from trivet.report import files  # noqa: PLC0415

    named = [after for word, after in itertools.pairwise(argv) if word == "--out"]
    named += [word.partition("=")[2] for word in argv if word.startswith("--out=")]
    out = door.cwd / (named[-1] if named else "ci_out")
    if out.is_dir():
        files.clear(out, legs)


def judge_and_tell(args: argparse.Namespace, door: Door, legs: tuple[LegName, ...]) -> int:
    """Judge the named legs, write their files, print, and give the exit status; whatever goes wrong, no stale verdict stays."""
    from trivet.report import files  # noqa: PLC0415 - heavy rooms load when they are needed

    out: Path = door.cwd / args.out
    files.clear(out, legs)
    signal.signal(signal.SIGTERM, _terminated)
    output.reports(args)
    signer = trusting.signer_of(args, door)
    from trivet.cli.recalled import Memory  # noqa: PLC0415

    memory = Memory.of(args, door, legs)
    known = memory.decision()
    decision = _judged(args, door, legs, audit=memory.audit) if known is None else known
    envelopes = None
    if signer is not None:
        from trivet.signing import envelopes as signed  # noqa: PLC0415

        envelopes = signed(decision, legs, signer, now=door.now, session=args.session, vsa=args.vsa)
    files.write(decision, out, legs=legs, envelopes=envelopes)
    if known is None:
        from trivet.replaying import keep  # noqa: PLC0415

        keep(decision, None if args.no_cache else output.cache_of(door))
        memory.settle(decision, out, door)
    elif not args.quiet:
        output.warn("from the cache: this change was judged here before (--no-cache judges it again)")
    status = output.show(decision, args, door)
    if legs == LEGS:
        return status
    words = {verdict.leg: verdict.status for verdict in decision.verdicts}
    return {"PASS": 0, "FAIL": 1, "NOT_RUN": 3}[words[legs[0]]]


def _judged(args: argparse.Namespace, door: Door, legs: tuple[LegName, ...], *, audit: bool) -> Decision:
    """Judge; where that cannot be done, the files say so."""
    from trivet.gate import judge  # noqa: PLC0415
    from trivet.report import files  # noqa: PLC0415

    try:
        with progress.shown(args, door) as show:
            return judge(replace(request_of(args, door, legs), show=show, audit=audit))
    except TrivetError as error:
        files.write(undecided(error), door.cwd / args.out, legs=legs)
        raise


def request_of(args: argparse.Namespace, door: Door, legs: tuple[LegName, ...]) -> GateRequest:
    """Turn parsed options and the door's facts into the request of one judgement."""
    from trivet.gate import GateRequest  # noqa: PLC0415

    if args.reruns is not None and not 0 <= args.reruns <= 100:  # noqa: PLR2004
        raise UsageError("--reruns takes a number from 0 to 100")
    home = door.environ.get("XDG_CACHE_HOME") or str(Path(door.environ.get("HOME") or "/nonexistent") / ".cache")
    review = getattr(args, "review", None)
    return GateRequest(
        repo=door.cwd / args.repo,
        base=args.base,
        head=args.head,
        repository=args.repository,
        key_file=trusting.key_file(args, door),
        now=door.now,
        python=None if args.python is None else str(door.cwd / args.python),
        review=None if review is None else door.cwd / review,
        isolation=args.isolation,
        controls=args.controls,
        wall=args.wall,
        vary=args.vary,
        reruns=args.reruns,
        cache=None if args.no_cache else Path(home) / "trivet",
        advisory=not getattr(args, "no_advisory", True),
        legs=legs,
        warn=output.warn,
    )


def undecided(error: TrivetError) -> Decision:
    """The decision when nothing could be judged: three times NOT_RUN, with the one reason."""
    finding = Finding(rule="TRV209", message=error.message + (f" ({error.where})" if error.where else ""), next=error.hint)
    return Decision(
        src_score=Verdict(leg="src-score", status="NOT_RUN", findings=(finding,), cause="infra"),
        oracle_integrity=Verdict(leg="oracle-integrity", status="NOT_RUN", cause="infra"),
        flake_lease=Verdict(leg="flake-lease", status="NOT_RUN", cause="infra"),
    )


def _terminated(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
