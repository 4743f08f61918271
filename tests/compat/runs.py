"""Runs of the probe for tests: a project on disk, an interpreter, a wall."""

from __future__ import annotations

from pathlib import Path

from trivet.model import RunRecord, ScorePolicy
from trivet.stage.runner import PINNED, Runner, Stand, Variation
from trivet.stage.wall import choose


def runner(root: Path, python: Path, scratch: Path, *, wall: str = "none", **policy: object) -> Runner:
    """A runner on a project that lies at ``root``, without a wall unless one is named."""
    source = root / "src"
    names = tuple(sorted(path.name.removesuffix(".py") for path in source.iterdir()))
    stand = Stand(root=root.resolve(), source_roots=(str(source.resolve()),), source_names=names)
    scratch.mkdir(exist_ok=True)
    return Runner(
        stand=stand,
        policy=ScorePolicy(**{"seed": 7, "test_timeout_s": 20.0, **policy}),  # type: ignore[arg-type]
        wall=choose(wall, allow_none=True),  # type: ignore[arg-type]
        python=python,
        scratch=scratch,
    )


def outcomes(record: RunRecord) -> dict[str, str]:
    """Outcome by test name, without the file."""
    return {result.id.partition("::")[2] or result.id: result.outcome for result in record.results}


def run(root: Path, files: tuple[str, ...], python: Path, scratch: Path, variation: Variation = PINNED, **fields: object) -> RunRecord:
    """Run these files once."""
    one = runner(root, python, scratch)
    return one.run(one.job(files, variation=variation, **fields), variation=variation)
