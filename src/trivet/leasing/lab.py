"""Runs of a work tree behind the wall: which tests end skipped, and how leased tests fail with their marks lifted."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trivet.leasing.desk import Desk
from trivet.model import RunRecord, TestResult, text_of
from trivet.room import Room
from trivet.scoring.scene import below, recordings_of, top_level
from trivet.stage.calibrate import check_startable
from trivet.stage.runner import RUNNER_NEEDS, Runner, Stand
from trivet.stage.wall import choose

_CODE = (b".py", b".pyi", b".so", b".pyd")
_LINK = 0o120000


class Lab:
    """One laid copy of the work tree, and the runner that stands on it."""

    def __init__(self, desk: Desk, runner: Runner, say: Callable[[str], None]) -> None:
        self._desk, self._runner, self._say = desk, runner, say

    @property
    def say(self) -> Callable[[str], None]:
        """Is told one line a step."""
        return self._say

    @property
    def runner(self) -> Runner:
        """What runs jobs on the copy."""
        return self._runner

    def run(self, files: Sequence[str] | None = None) -> RunRecord:
        """Run all sealed tests once, or those of some files.

        Raises:
            ProbeError: the project's interpreter or its pytest can't run.
        """
        self._say(f"running {'the sealed tests' if files is None else ', '.join(files)} to see what is skipped")
        record = self._runner.run(self._runner.job(self._desk.seal.tests if files is None else files))
        check_startable(record, own_runner=bool(self._runner.stand.own_runner))
        return record

    def lifted(self, ids: Sequence[str]) -> tuple[TestResult, ...]:
        """Run some tests with their skip and xfail marks lifted. A test that hangs or kills the run has no result."""
        if not ids:
            return ()
        self._say(f"running {len(ids)} skipped tests with their marks lifted")
        wanted = {name.split("::", 1)[0] for name in ids}
        files = [file for file in self._desk.seal.tests if file in wanted]
        found: dict[str, TestResult] = {}
        left = list(ids)
        for _ in range(len(ids)):
            record = self._runner.run(self._runner.job(files, ids=left, lift=left))
            found.update((result.id, result) for result in record.results if result.lifted)
            if record.end.how == "closed" or not record.end.test:
                break
            found.pop(record.end.test, None)
            left = [name for name in left if name not in found and name != record.end.test]
            if not left:
                break
        return tuple(found.values())


@contextmanager
def open_lab(desk: Desk, python: str | None, say: Callable[[str], None]) -> Iterator[Lab]:
    """Lay a copy of the work tree and choose a wall.

    Args:
        desk: the work tree.
        python: the project's interpreter; None takes the policy's, or the one trivet runs on.
        say: is told one line a step.

    Raises:
        SandboxError: no wall can be had.
    """
    policy = desk.policy.score
    interpreter = Path(os.path.normpath(desk.tree.root / (python or policy.python or sys.executable)))
    wall = choose(policy.wall, network=policy.network, allow_none=policy.wall == "none")
    with Room("trivet-lease-") as made:
        folder = made.resolve()
        root, scratch = folder / "tree", folder / "scratch"
        root.mkdir()
        scratch.mkdir()
        stand = _stand(desk, root)
        yield Lab(desk, Runner(stand=stand, policy=policy, wall=wall, python=interpreter, scratch=scratch), say)


def _stand(desk: Desk, root: Path) -> Stand:
    zoned: list[tuple[str, str]] = []
    for entry in desk.tree.entries():
        target = root / os.fsdecode(entry.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(desk.tree.root / os.fsdecode(entry.path), target, follow_symlinks=False)
        if entry.path.endswith(_CODE):
            zoned.append((text_of(entry.path), desk.zones.place(entry.path, entry.mode).zone))
    roots = tuple(text_of(path) for path in desk.zones.source_roots) or ("",)
    names = top_level((path for path, zone in zoned if zone == "source"), desk.policy.score.paths)
    return Stand(
        root=root,
        source_roots=tuple(os.path.normpath(root / path) for path in roots),
        source_names=tuple(sorted(names)),
        own_runner=tuple(sorted(names & set(RUNNER_NEEDS))),
        sealed=tuple(path for path, zone in zoned if zone == "oracle" and (roots == ("",) or below(path, roots))),
        recordings=recordings_of(desk.policy, root),
    )
