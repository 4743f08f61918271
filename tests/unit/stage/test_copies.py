"""Suites that write next to themselves get a copy of the tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from trivet.model import Calibrated, Calibration, Failure, RunEnd
from trivet.probe import wire
from trivet.stage import copies


def calibration(*failures: Failure | None) -> Calibration:
    tests = tuple(
        Calibrated(id=f"f::t{n}", file="f", outcome="failed" if failure else "passed", seconds=0.1, failure=failure)
        for n, failure in enumerate(failures)
    )
    return Calibration(tests=tests, errors=(), end=RunEnd(how="closed"))


@pytest.mark.parametrize(
    ("failure", "wanted"),
    [
        (Failure(type="OSError", message="[Errno 30] Read-only file system: 'tests/out.txt'"), True),
        (Failure(type="PermissionError", message="[Errno 13] Permission denied: 'tests/out.txt'"), True),
        (Failure(type="AssertionError", message="assert 1 == 2"), False),
        (None, False),
    ],
)
def test_a_refused_write_is_seen_in_the_failures_of_base(failure: Failure | None, wanted: bool) -> None:
    """A refused write is seen in the failures of base."""
    assert copies.wants_to_write(calibration(None, failure)) is wanted
    assert copies.reds(calibration(None, failure)) == (failure is not None)


def test_the_copy_can_be_written_and_what_changed_is_told(tmp_path: Path) -> None:
    """The copy can be written to; each file that was changed, removed or replaced by a link is told, new ones are not."""
    root, copy = tmp_path / "root", tmp_path / "copy"
    for name in ("a/kept.py", "a/changed.py", "a/gone.py", "b/linked.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
        (root / name).chmod(0o444)
    (root / "a/link").symlink_to("kept.py")
    copies.copy_tree(root, copy)
    (copy / "a/new.txt").write_text("x")
    assert not list(copies.changed(root, copy))
    (copy / "a/changed.py").write_text("y")
    (copy / "a/gone.py").unlink()
    (copy / "b/linked.py").unlink()
    (copy / "b/linked.py").symlink_to("/etc/passwd")
    (copy / "a/link").unlink()
    signs = list(copies.changed(root, copy))
    assert {sign.detail.split()[0] for sign in signs} == {"a/changed.py", "a/gone.py", "b/linked.py", "a/link"}
    assert all(sign.blocking for sign in signs)


def test_a_job_moves_with_its_tree() -> None:
    """A job moves with its tree, and nothing else in it changes."""
    job = wire.Job(
        root="/t/head", files=["tests/a.py"], paths=["/t/head/src", "/t/head"], nonce="n", source_roots=["/t/head/src"], scratch="/t/header"
    )
    there = copies.moved(job, Path("/t/head"), Path("/s/copy"))
    assert (there.root, there.paths, there.source_roots) == ("/s/copy", ["/s/copy/src", "/s/copy"], ["/s/copy/src"])
    assert (there.scratch, there.files) == ("/t/header", ["tests/a.py"])
