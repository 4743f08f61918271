"""The runs of an admission: base's oracle and head's oracle on base's source, then the new and changed properties asked harder."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trivet.admission_traces import idle_on_base, traced
from trivet.git import Repository
from trivet.legs.admission import Candidate, Traced, Trials, Varied
from trivet.model import Calibrated, Calibration, Commit, LeaseMatch, Policy, RunRecord, ScoreEvidence
from trivet.pace import Ticker, still
from trivet.room import Room
from trivet.scoring import Request, Scene, harder
from trivet.scoring.walk import workers
from trivet.stage import control_runs
from trivet.stage.cache import Cache, build_digest, key_of
from trivet.stage.calibrate import calibrate, calibration_of, check_startable
from trivet.stage.controls import Book
from trivet.stage.overlay import Overlay
from trivet.stage.replay import find_python, run_facts
from trivet.stage.runner import Runner, Stand, Variation
from trivet.stage.wall import choose
from trivet.zones import Zones

VARIATIONS: tuple[tuple[str, Variation, int, str], ...] = (
    ("another hash seed, seed and order", Variation(hash_seed=4021, order_seed=7, fold="-seed"), 97, "UTC"),
    (
        "a clock 200 days later, another time zone and the reverse order",
        Variation(clock_shift_s=200 * 86_400.0 + 12_345.0, hash_seed=11, order_seed=-7, fold="-clock"),
        0,
        "XXX+11",
    ),
)
"""What a property must not depend on: (in words, variation of the runner, number added to the seed, time zone)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What is tried: the two oracles, and which of head's properties are new or changed.

    ``quiet``: nothing moved that a run could see, so one run stands for both oracles.
    """

    base: Commit
    merged: str
    base_tests: tuple[str, ...]
    head_tests: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    leases: tuple[LeaseMatch, ...]
    quiet: bool
    opaque: bool = False
    """Production code is compiled, so that a trace does not see all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a run needs from the caller; ``python`` None: the policy's, or the one trivet runs on."""

    repo: Path
    python: str | None = None
    cache: Path | None = None
    progress: Callable[[str], None] = lambda _line: None
    tick: Ticker = still


def run_trials(repository: Repository, trial: Trial, policy: Policy, zones: Zones, means: Means) -> tuple[Trials, ScoreEvidence]:
    """Run what has to run.

    Returns:
        The trials for admission's leg, and the evidence for the flake-lease leg.

    Raises:
        TrivetError: interpreter, wall or probe cannot be had on this host.
    """
    with _scene(repository, trial, policy, zones, means) as (scene, request):
        say = request.progress
        head = _runner(scene, request, scene.head())
        say("running head's oracle on base's source")
        # Trees are laid one after the other; only runs go side by side.
        stand = scene.head()
        if not trial.quiet:
            scene.base()
        with ThreadPoolExecutor(max_workers=workers()) as pool:
            running = pool.submit(head.run, head.job(trial.head_tests))
            calibrating = None if trial.quiet else pool.submit(_base, scene, request, trial)
            record = running.result()
            check_startable(record, own_runner=bool(stand.own_runner))
            after = calibration_of(record)
            before = after if calibrating is None else calibrating.result()
        moved = _moved(after, trial.candidates)
        controlled = bool(moved) and policy.score.controls != "off"
        book = Book(_texts(stand, trial.head_tests) if controlled else {})
        alterable = frozenset(test.id for test in moved if any(one.kind != "canary" for one in book.of(test.id)))
        tried: tuple[tuple[str, int], ...] = ()
        if moved:
            say("asking the new and changed properties harder")
        with ThreadPoolExecutor(max_workers=workers()) as pool:
            varying = pool.submit(_asked, head, moved) if moved else None
            if controlled:
                after, tried = _controlled(_runner(scene, request, stand), book, after, moved)
            varied, traces = varying.result() if varying is not None else ((), ())
        idle = idle_on_base(lambda: _runner(scene, request, scene.base()), traces, trial.candidates)
        facts = run_facts(policy.score, request.python, wall=request.wall.facts.name)
        evidence = ScoreEvidence(
            calibration=before, runs=(record,), files=trial.head_tests, wall=request.wall.facts, replay=tuple(sorted(facts.items()))
        )
        evidence = replace(evidence, lifted=harder.lifted(head, evidence, trial.leases))
        trials = Trials(
            base=before,
            head=after,
            varied=varied,
            controlled=controlled,
            alterable=alterable,
            tried=tried,
            traced=traces,
            idle_on_base=idle,
            opaque=trial.opaque,
        )
        return trials, evidence


@contextmanager
def _scene(repository: Repository, trial: Trial, policy: Policy, zones: Zones, means: Means) -> Iterator[tuple[Scene, Request]]:
    python = find_python(policy.score, repo=means.repo, asked=means.python)
    wall = choose(policy.score.wall, network=policy.score.network, allow_none=True)
    room = Room("trivet-")
    folder = room.path
    scene = None
    try:
        folder.chmod(0o711)
        (folder / "trees").mkdir()
        (folder / "runs").mkdir()
        overlay = Overlay(tree=trial.merged, entries=repository.tree(trial.merged), conflicts=())
        scene = Scene(repository, trial.base, overlay, policy, zones, trial.base_tests, folder / "trees")
        cache = Cache(None if wall.facts.name == "none" else means.cache)
        yield scene, Request(wall=wall, python=python, scratch=folder / "runs", cache=cache, progress=means.progress, tick=means.tick)
    finally:
        before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            if scene is not None:
                scene.close()
            room.close()
        finally:
            signal.signal(signal.SIGTERM, before)


def _runner(scene: Scene, request: Request, stand: Stand) -> Runner:
    score = scene.policy.score
    return Runner(stand=stand, policy=score, wall=request.wall, python=request.python, scratch=request.scratch, tick=request.tick)


def _base(scene: Scene, request: Request, trial: Trial) -> Calibration:
    """Base's own calibration, kept under the key of the scored run, so that both share it."""
    wall = request.wall.facts
    key = key_of(
        {
            "facts": run_facts(scene.policy.score, request.python, wall=wall.name),
            "tests": trial.base_tests,
            "base": scene.base_tree,
            "build": build_digest(),
            "wall": wall,
            "own": scene.policy.zones,
        }
    )
    request.cache.bind(key)
    known = request.cache.get("calibration", key, Calibration)
    if known is None:
        request.progress("calibrating on base")
        known = calibrate(_runner(scene, request, scene.base()), trial.base_tests)
        request.cache.put("calibration", key, known)
    return known


def _moved(after: Calibration, candidates: Sequence[Candidate]) -> tuple[Calibrated, ...]:
    names = {(row.file, row.function) for row in candidates if row.state != "same"}
    return tuple(test for test in after.tests if _function_of(test.id) in names)


def _asked(runner: Runner, moved: tuple[Calibrated, ...]) -> tuple[tuple[Varied, ...], tuple[Traced, ...]]:
    """The moved tests under other environments, and watched."""
    return _varied(runner, moved), traced(runner, moved)


def _controlled(
    runner: Runner, book: Book, after: Calibration, moved: tuple[Calibrated, ...]
) -> tuple[Calibration, tuple[tuple[str, int], ...]]:
    """Fill in the controls of the moved tests, and count how many were tried; the other tests are not tried."""
    plain, tried = control_runs.runner_of(runner), Counter[str]()

    def run(files: tuple[str, ...], fields: Mapping[str, Any]) -> RunRecord:
        tried.update(str(row["id"]) for row in fields["controls"] if str(row["kind"]).partition("@")[0] != "canary")
        return plain(files, fields)

    part = control_runs.admit(book, replace(after, tests=moved), run)
    found = {test.id: test for test in part.tests}
    return replace(after, tests=tuple(found.get(test.id, test) for test in after.tests)), tuple(sorted(tried.items()))


def _texts(stand: Stand, tests: Sequence[str]) -> dict[str, str]:
    """The Python files of head's oracle as they lie in the tree: test files, and what lies beside or above them."""
    folders = {Path(test).parts[0] for test in tests}
    found = {}
    for folder in sorted(folders):
        for file in sorted((stand.root / folder).rglob("*.py")) if (stand.root / folder).is_dir() else [stand.root / folder]:
            try:
                found[str(file.relative_to(stand.root))] = file.read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                continue
    return found


def _varied(runner: Runner, moved: tuple[Calibrated, ...]) -> tuple[Varied, ...]:
    """Run the moved tests under other environments; what already differs when they run without their neighbours does not count."""
    ids = [test.id for test in moved]
    files = tuple(dict.fromkeys(test.file for test in moved))
    pinned = {test.id: test.outcome for test in moved}
    rows = [
        Varied(what=what, outcomes=_outcomes(_again(_zoned(runner, zone), files, ids, v, shift))) for what, v, shift, zone in VARIATIONS
    ]
    if all(pinned.get(name) == outcome for row in rows for name, outcome in row.outcomes):
        return tuple(rows)
    alone = dict(_outcomes(_again(runner, files, ids, Variation(fold="-alone"), 0)))
    steady = {name for name, outcome in alone.items() if pinned.get(name) == outcome}
    return tuple(replace(row, outcomes=tuple(pair for pair in row.outcomes if pair[0] in steady)) for row in rows)


def _zoned(runner: Runner, zone: str) -> Runner:
    """The same runner in another time zone; a zone that the policy itself names stays."""
    policy = runner.policy
    env = policy.env if any(name == "TZ" for name, _ in policy.env) else (*policy.env, ("TZ", zone))
    return replace(runner, policy=replace(policy, env=env))


def _again(runner: Runner, files: tuple[str, ...], ids: list[str], variation: Variation, shift: int) -> RunRecord:
    return runner.run(runner.job(files, variation=variation, ids=ids, seed=runner.policy.seed + shift), variation=variation)


def _outcomes(record: RunRecord) -> tuple[tuple[str, str], ...]:
    return tuple((result.id, result.outcome) for result in record.results)


def _function_of(test: str) -> tuple[str, str]:
    file, *rest = test.split("[", 1)[0].split("::")
    return file, ".".join(rest)
