"""Run test files plainly and under perturbed settings, and say which tests do not always end the same way, and why.

Perturbed are: order of tests, hash seed, random seed, time zone, clock, processors and the timing of threads, a second run in one process,
locale, working directory, process id, and a network that answers. For a test that depends on others the smallest set of them is shown. The
runs take place behind the wall, on a copy of the work tree. Ends with 0 where every test always ended the same way, 1 otherwise.

Examples:
  trivet flake tests/sealed/test_orders.py
  trivet flake tests/proposed/*.py --json
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from trivet.cli import Door, output
from trivet.errors import UsageError

if TYPE_CHECKING:
    from trivet.leasing.flake import Found


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="test files of the work tree")
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the work tree (default: the current folder)")
    parser.add_argument("--python", metavar="EXE", help="the project's interpreter (default: the policy's)")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace, door: Door) -> int:
    """Look and tell."""
    from trivet.leasing.desk import open_desk  # noqa: PLC0415 - loaded when it runs
    from trivet.leasing.flake import look  # noqa: PLC0415
    from trivet.leasing.lab import open_lab  # noqa: PLC0415

    desk = open_desk(door.cwd / args.repo, door.now)
    files = [_inner(door.cwd / name if (door.cwd / name).exists() else desk.tree.root / name, desk.tree.root) for name in args.files]
    python = None if args.python is None else str(door.cwd / args.python)
    with open_lab(desk, python, _tell) as lab:
        found = look(lab, files, say=_tell)
    output.say(json.dumps(_plain(found), indent=2) + "\n" if args.json else _text(found))
    return 1 if any(test.kind == "flaky" for test in found.tests) else 0


def _inner(path: Path, root: Path) -> str:
    if not path.is_file():
        raise UsageError(f"there is no test file {path.name}", where=str(path))
    inner = os.path.relpath(path, root)
    if inner.startswith(".."):
        raise UsageError(f"{path.name} lies outside of the work tree", where=str(root))
    return inner


def _tell(line: str) -> None:
    sys.stderr.write((line + "\n").encode("utf-8", "backslashreplace").decode())


def _plain(found: Found) -> dict[str, object]:
    tests = [
        {"test": test.id, "kind": test.kind, "cause": test.cause, "shown_by": list(test.shown_by), "detail": test.detail}
        for test in found.tests
    ]
    runs = [{"run": "plain", "seconds": round(found.plain_s, 3)}, *({"run": name, "seconds": round(s, 3)} for name, s in found.seconds)]
    return {"tests": tests, "runs": runs, "broken": [{"run": name, "why": why} for name, why in found.broken]}


def _text(found: Found) -> str:
    from trivet.legs.flakes import CAUSES  # noqa: PLC0415

    lines: list[str] = []
    for test in found.tests:
        if test.kind == "flaky":
            lines += [f"flaky  {test.id}", f"       depends on {CAUSES[test.cause]} ({test.cause})", f"       {test.detail}"]
        elif test.kind == "fails":
            lines += [f"fails  {test.id}", f"       in every run{f': {test.detail}' if test.detail else ''}"]
    lines += [f"broken run {name}: {why}" for name, why in found.broken]
    counts = {kind: sum(test.kind == kind for test in found.tests) for kind in ("flaky", "fails", "holds")}
    told = f"{counts['flaky']} flaky, {counts['fails']} fail in every run, {counts['holds']} always hold"
    lines.append(f"{told}; {len(found.seconds)} perturbed runs")
    return "\n".join(lines) + "\n"
