"""The words of running: what the probe saw, what base's own run showed, what the score leg judges.

Part of ``trivet.model``, which gives these words out again; nobody imports them from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Isolation = Literal["shared", "split"]
Outcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How a test failed: exception type, message (bounded), and the innermost place in the sealed tree."""

    type: str
    message: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """One sealed test as it ended. ``phases`` are (when, outcome, seconds); ``reason`` is the skip or xfail reason.

    ``lifted``: skip and xfail marks were lifted for this run. ``env_skip``: the skip comes from a mark of the sealed tree whose condition
    speaks of the environment, or from ``importorskip``; ``by_source``: production code raised the skip.
    """

    id: str
    file: str
    outcome: Outcome
    seconds: float
    phases: tuple[tuple[str, str, float], ...]
    reason: str = ""
    failure: Failure | None = None
    lifted: bool = False
    env_skip: bool = False
    by_source: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TamperSign:
    """A trace of tampering. Only a ``blocking`` sign fails the score; the others are shown as evidence."""

    kind: str
    detail: str
    blocking: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlResult:
    """One negative control: a mutated copy of a sealed test that must fail at ``line``.

    ``outcome``: ``red`` (failed as it must), ``passed``, ``elsewhere`` (failed at another place), ``skipped``, ``missing``, ``timeout``.
    """

    id: str
    kind: str
    line: int
    altered: str
    outcome: Literal["red", "passed", "elsewhere", "skipped", "missing", "timeout"]
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """How a run ended: ``closed`` (closing message, nothing after it), or why not."""

    how: Literal["closed", "exit", "signal", "timeout", "limit", "protocol", "refused"]
    detail: str = ""
    limit: str = ""
    test: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One supervised run of sealed tests. ``collected`` are ids in collection order; ``errors`` are (file, text) of collection errors."""

    isolation: Isolation
    collected: tuple[str, ...]
    results: tuple[TestResult, ...]
    errors: tuple[tuple[str, str], ...]
    signs: tuple[TamperSign, ...]
    end: RunEnd
    seconds: float
    output: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    """Facts the probe saw (interpreter, distributions, platform, clock): names and values of the replay key's environment part."""
    notes: tuple[Mapping[str, object], ...] = ()
    """Records of kinds that the runner does not read itself (``control`` and the like), as the probe wrote them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """What base's run says of one test id: its outcome in shared isolation, and whether it passes alone and split."""

    id: str
    file: str
    outcome: Outcome
    seconds: float
    reason: str = ""
    env_skip: bool = False
    failure: Failure | None = None
    split: Literal["passes", "fails", "cannot", "unknown"] = "unknown"
    split_note: str = ""
    controls: tuple[tuple[str, int], ...] = ()
    """Admitted controls as (kind, line)."""
    by_source: bool = False
    """Production code of base itself raised the skip, or threw generated inputs away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What a correct run looks like, learnt from base.

    ``split_files``: files that run split under ``auto``; ``alone``: files that pass when run alone.
    """

    tests: tuple[Calibrated, ...]
    errors: tuple[tuple[str, str], ...]
    end: RunEnd
    split_files: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0
    signs: tuple[TamperSign, ...] = ()
    """Signs that base's own run shows: what base does is no sign against a patch."""
    output: str = ""
    generated: tuple[str, ...] = ()
    """Ids of tests with generated inputs (hypothesis)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WallFacts:
    """Which wall stood, and what it guarantees, each in words."""

    name: Literal["kernel", "bubblewrap", "none"]
    guarantees: tuple[str, ...]
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreEvidence:
    """All that the score leg judges: the calibration, the runs on the scoring tree, their controls.

    ``runs``: the counted run of each isolation; together they hold each sealed file once. ``reruns``: further runs of a red run.
    ``varied``: the run under another environment (``score.vary``). ``lifted``: results of leased tests with their marks lifted.
    ``conflicts``: source paths that do not merge. ``refused``: why nothing ran ("" = it ran).
    """

    calibration: Calibration | None = None
    runs: tuple[RunRecord, ...] = ()
    reruns: tuple[tuple[RunRecord, ...], ...] = ()
    varied: tuple[RunRecord, ...] = ()
    controls: tuple[ControlResult, ...] = ()
    lifted: tuple[TestResult, ...] = ()
    conflicts: tuple[str, ...] = ()
    refused: str = ""
    wall: WallFacts | None = None
    fresh: tuple[RunRecord, ...] = ()
    """Generated tests on inputs from ``fresh_seed``, which the patch could not know."""
    fresh_base: tuple[RunRecord, ...] = ()
    """The same inputs on base, asked only where ``fresh`` is red: what fails there as well is no doing of the patch."""
    varied_base: tuple[RunRecord, ...] = ()
    """The varied run on base, asked only where ``varied`` differs."""
    fresh_seed: int = 0
    files: tuple[str, ...] = ()
    """The sealed test files that had to run, in manifest order."""
    replay: tuple[tuple[str, str], ...] = ()
    """Facts of the replay key that the walk knows: interpreter, environment, seeds, clock, wall."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayKey:
    """Named facts of a run (sorted), and the SHA-256 of their canonical JSON."""

    facts: tuple[tuple[str, str], ...]
    digest: str
