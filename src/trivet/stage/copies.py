"""Writable copies of a laid tree, for suites whose own tests write next to themselves.

The tree is laid read-only, which some honest suites cannot live with (they touch a template, or write a file beside the test). Where
base's own tests show that, each run gets a copy that is thrown away, and what became of the files that were there before is a sign.
"""

from __future__ import annotations

import filecmp
import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from trivet.model import Calibration, TamperSign
from trivet.probe import wire

WRITABLE = ("tree", "a writable copy for each run: base's own tests write into it")
"""The fact of a calibration whose tests need it."""

_MARKS = ("Read-only file system", "[Errno 30]", "[Errno 13] Permission denied", "PermissionError")
_RED = ("failed", "error")


def wants_to_write(found: Calibration) -> bool:
    """Whether base has red tests that tell of a write that was refused."""
    texts = [f"{test.failure.type}: {test.failure.message}" for test in found.tests if test.failure is not None and test.outcome in _RED]
    texts += [text for _, text in found.errors]
    return any(mark in text for text in texts for mark in _MARKS)


def reds(found: Calibration) -> int:
    """How much of base is red."""
    return sum(test.outcome in _RED for test in found.tests) + len(found.errors)


def is_writable(found: Calibration) -> bool:
    """Whether runs need a writable copy."""
    return WRITABLE in found.environment


def copy_tree(root: Path, copy: Path) -> None:
    """Copy a laid tree to ``copy``, which must not exist, and let its owner write."""
    shutil.copytree(root, copy, symlinks=True)
    for folder, _, files in os.walk(copy):
        Path(folder).chmod(0o755)
        for name in files:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | stat.S_IWUSR)


def moved(job: wire.Job, root: Path, copy: Path) -> wire.Job:
    """The job with every path below ``root`` below ``copy`` instead."""
    old, new = (json.dumps(str(path))[1:-1].encode() for path in (root, copy))
    return wire.load_job(wire.dump_job(job).replace(old + b'"', new + b'"').replace(old + b"/", new + b"/"))


def changed(root: Path, copy: Path) -> Iterator[TamperSign]:
    """A sign for each file of the tree that a run changed or removed; new files do not count."""
    for folder, _, files in os.walk(root):
        for name in files:
            here = Path(folder, name)
            there = copy / here.relative_to(root)
            if here.is_symlink():
                same = there.is_symlink() and here.readlink() == there.readlink()
            else:
                same = there.is_file() and not there.is_symlink() and filecmp.cmp(here, there, shallow=False)
            if not same:
                yield TamperSign(kind="tree", detail=f"{here.relative_to(root)} was changed while the tests ran", blocking=True)
