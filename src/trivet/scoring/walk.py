"""The order of things: calibrate and run side by side, then ask a red run again, and a green one harder."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from trivet.legs import score as score_leg
from trivet.model import Calibration, LeaseMatch, RunRecord, ScoreEvidence
from trivet.pace import Ticker, still
from trivet.scoring import apart, harder
from trivet.scoring.control import Controls
from trivet.scoring.scene import Scene
from trivet.stage import copies
from trivet.stage.cache import Cache, build_digest, key_of
from trivet.stage.calibrate import calibrate
from trivet.stage.forkserver import Servers
from trivet.stage.parted import PartedRunner, only, weights_of
from trivet.stage.prepare import prepare
from trivet.stage.replay import environment_of, run_facts
from trivet.stage.runner import Stand, pinned_environment
from trivet.stage.wall import Wall
from trivet.stage.wall_reach import faketime_preload


def _silent(_line: str) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """How to gather.

    ``python`` is the interpreter of the project (absolute), ``scratch`` an existing folder of ours. ``leases``: what the ledger says of
    sealed tests, to see how they fail with their marks lifted. ``secret``: seed of fresh inputs and of the choice of controls; None
    draws one. ``split``: the files that run split, where an earlier judgement is repeated; None finds them out.
    ``progress`` is told one line a step, ``tick`` how far each run is.
    """

    wall: Wall
    python: Path
    scratch: Path
    cache: Cache = field(default_factory=lambda: Cache(None))
    leases: tuple[LeaseMatch, ...] = ()
    secret: int | None = None
    split: frozenset[str] | None = None
    progress: Callable[[str], None] = _silent
    tick: Ticker = still


def gather(scene: Scene, request: Request) -> ScoreEvidence:
    """Run what has to run and return all that the score leg judges.

    Raises:
        ProbeError: the project's interpreter or its pytest cannot run on this host.
        SandboxError: a step of the wall failed.
    """
    wall = request.wall.facts
    facts = run_facts(scene.policy.score, request.python, wall=wall.name)
    whole = ScoreEvidence(files=scene.tests, wall=wall, conflicts=scene.conflicts, replay=tuple(sorted(facts.items())))
    if scene.conflicts:
        return whole
    facts_of_trees = {"base tree": scene.base_tree, "score tree": scene.head_tree}
    common = {
        "facts": facts,
        "tests": scene.tests,
        "base": scene.base_tree,
        "build": build_digest(),
        "wall": wall,
        "own": scene.policy.zones,
        "prepare": scene.policy.score.prepare,
    }
    calibration_key = key_of(common)
    request.cache.bind(calibration_key)
    leased = [(match.file, match.function, match.problem, match.lease) for match in request.leases]
    settings = msgspec.to_builtins(scene.policy.score)
    evidence_key = key_of({**common, "head": scene.head_tree, "score": settings, "leases": msgspec.to_builtins(leased)})
    known = request.cache.get("evidence", evidence_key, ScoreEvidence) if request.secret is None else None
    if known is not None:
        request.progress("everything is in the cache")
        return known
    secret = secrets.randbits(48) if request.secret is None else request.secret
    whole = replace(whole, replay=tuple(sorted({**facts, **facts_of_trees, "secret": str(secret)}.items())), fresh_seed=secret % 2**32)
    with Servers(request.wall, request.python, pinned_environment(scene.policy.score, request.python, Path("/"))) as servers:
        found = _Walk(scene, request, calibration_key, secret, servers).gather(whole)
    if score_leg.judge(found).status == "PASS":
        request.cache.put("evidence", evidence_key, found)
    return found


class _Walk:
    def __init__(self, scene: Scene, request: Request, calibration_key: str, secret: int, servers: Servers) -> None:
        self.scene, self.request = scene, request
        self.policy = scene.policy.score
        self.key = calibration_key
        self.secret = secret
        self.say = request.progress
        self.split_files: frozenset[str] = frozenset()
        self.writable = False
        self.prepared: set[Path] = set()
        self.weights: dict[str, float] = {}
        own_clock = "time_machine==" in environment_of(request.python)["distributions"]
        # Only where the policy asks for a frozen clock itself: the library disturbs absolute sleeps (Python 3.11 and later), now and then.
        self.preload = faketime_preload() if self.policy.clock_asked and self.policy.clock != "real" and not own_clock else None
        self.servers = servers if self.preload is None and not scene.makes_runner() else None
        self.controls = Controls(scene.texts, self.policy.controls, secret, request.cache, calibration_key, request.progress)

    def runner(self, stand: Stand) -> PartedRunner:
        if stand.root not in self.prepared:
            self.prepared.add(stand.root)
            prepare(stand.root, self.policy, wall=self.request.wall, python=self.request.python, scratch=self.request.scratch)
        return PartedRunner(
            stand=replace(stand, writable=self.writable),
            policy=self.policy,
            wall=self.request.wall,
            python=self.request.python,
            scratch=self.request.scratch,
            split_files=self.split_files,
            weights=self.weights,
            preload=self.preload,
            tick=self.request.tick,
            servers=self.servers,
        )

    def gather(self, whole: ScoreEvidence) -> ScoreEvidence:
        if self.servers is not None:
            self.servers.start("0")  # it comes up while the trees are laid
            self.servers.warm(self.scene.warmth())
        calibration, early = self._first()
        if early is not None:
            found = replace(whole, calibration=calibration, runs=(early,))
            if score_leg.is_red(found):
                # Red in shared isolation is red: which files could run split need not be found out for that.
                head = self.runner(self.scene.head())
                return replace(found, lifted=harder.lifted(head, found, self.request.leases), reruns=self._again(head, found))
        calibration = self._apart(self.runner(self.scene.base()), calibration)
        runs = self._runs(self.runner(self.scene.head()), early)
        head = self.runner(self.scene.head())
        found = replace(whole, calibration=calibration, runs=runs)
        found = replace(found, lifted=harder.lifted(head, found, self.request.leases))
        if score_leg.is_red(found):
            return replace(found, reruns=self._again(head, found))
        return self._harder(head, found)

    def _first(self) -> tuple[Calibration, RunRecord | None]:
        """The calibration, from the cache or from a run; beside such a run the scoring tree has its first, in shared isolation."""
        calibration = self.request.cache.get("calibration", self.key, Calibration)
        early: RunRecord | None = None
        if calibration is None:
            base, head = self.runner(self.scene.base()), self.runner(self.scene.head())
            with ThreadPoolExecutor(max_workers=workers()) as pool:
                self.say("calibrating on base and running the sealed tests on the scoring tree")
                first = pool.submit(self._calibrate, base)
                forced = bool(self.request.split) or any(apart.asked(self.policy, file) == "split" for file in self.scene.tests)
                same = self.scene.head_tree == self.scene.base_tree
                second = None if forced or same else pool.submit(head.run, head.job(self.scene.tests))
                if self.policy.controls != "off":
                    self.controls.read()  # now, while this thread has nothing to do
                calibration = first.result()
                early = second.result() if second is not None else None
            self.request.cache.put("calibration", self.key, calibration)
        self.weights = weights_of(calibration)
        if copies.is_writable(calibration):
            self.writable, early = True, None
        return calibration, early

    def _runs(self, head: PartedRunner, early: RunRecord | None) -> tuple[RunRecord, ...]:
        """The counted runs: what has run already in the isolation it must have, and the rest."""
        self.say("running the sealed tests on the scoring tree")
        if early is None:
            return self._fallen_back(head, head.runs(head.job(self.scene.tests)), None)
        if not self.split_files:
            return (early,)
        shared = frozenset(self.scene.tests) - self.split_files
        split = head.runs(head.job([file for file in self.scene.tests if file in self.split_files]))
        return self._fallen_back(head, (*((only(early, shared),) if shared else ()), *split), early)

    def _fallen_back(self, head: PartedRunner, runs: tuple[RunRecord, ...], early: RunRecord | None) -> tuple[RunRecord, ...]:
        """Run what cannot cross on the scoring tree in shared isolation after all: base could not show it."""
        back = frozenset[str]().union(*(apart.cannot_cross(run) for run in runs))
        if not back:
            return runs
        self.say(f"{len(back)} files cannot run apart on the scoring tree: they run shared")
        self.split_files -= back
        shared = frozenset(self.scene.tests) - self.split_files
        if early is None:
            plain = replace(head, split_files=frozenset())
            early = plain.run(plain.job([file for file in self.scene.tests if file in shared]))
        rest = tuple(only(run, self.split_files) for run in runs if run.isolation == "split")
        return (only(early, shared), *(run for run in rest if run.collected or run.end.how != "closed"))

    def _calibrate(self, base: PartedRunner) -> Calibration:
        """Run base; where its own tests are refused a write, once more with a writable copy, which is kept to if it helps."""
        found = calibrate(base, self.scene.tests)
        if not copies.wants_to_write(found):
            return found
        self.say("base's own tests write next to themselves: trying a writable copy")
        other = calibrate(replace(base, stand=replace(base.stand, writable=True)), self.scene.tests)
        if copies.reds(other) >= copies.reds(found):
            return found
        return replace(other, environment=(*other.environment, copies.WRITABLE))

    def _apart(self, base: PartedRunner, calibration: Calibration) -> Calibration:
        """Find out on base which files run split, and keep to it from here on."""
        policy = self.policy
        if self.request.split is not None:
            self.split_files = self.request.split
            return replace(calibration, split_files=tuple(sorted(self.split_files)))
        settings = {"base": self.key, "budget": policy.split_budget, "asked": [apart.asked(policy, file) for file in self.scene.tests]}
        key = key_of(settings)
        known = self.request.cache.get("split", key, Calibration)
        if known is None:
            if apart.candidates(policy, calibration, self.scene.tests):
                self.say("finding out which sealed files run apart from the source")
            known = apart.calibrated(base, calibration, policy, self.scene.tests)
            self.request.cache.put("split", key, known)
        self.split_files = apart.split_files(policy, known, self.scene.tests)
        if self.split_files:
            self.controls.key = key_of({"key": self.key, "split": sorted(self.split_files)})
        return known

    def _again(self, head: PartedRunner, found: ScoreEvidence) -> tuple[tuple[RunRecord, ...], ...]:
        """Run a red run again, to tell product from environment. What is red for another reason than a property is not asked again."""
        if score_leg.judge(found).cause != "property" or not self.policy.reruns:
            return ()
        self.say(f"red: running it again, {self.policy.reruns} times")
        with ThreadPoolExecutor(max_workers=workers()) as pool:
            jobs = [pool.submit(head.runs, head.job(self.scene.tests)) for _ in range(self.policy.reruns)]
            return tuple(job.result() for job in jobs)

    def _prepared(self) -> PartedRunner:
        self.controls.read()
        return self.runner(self.scene.base())

    def _harder(self, head: PartedRunner, found: ScoreEvidence) -> ScoreEvidence:
        """Ask a green run harder: controls, inputs it could not know, another environment."""
        calibration = found.calibration or Calibration(tests=(), errors=(), end=found.runs[0].end)
        # The repository's children serve one thread: what is needed of it is fetched before threads start.
        base = self._prepared() if self.policy.controls != "off" else None
        with ThreadPoolExecutor(max_workers=workers()) as pool:
            fresh = pool.submit(harder.fresh, head, found)
            varied = pool.submit(harder.varied, head, found, self.secret)
            if base is not None:
                calibration, controls = self.controls.run(calibration, found.runs, head, base)
                found = replace(found, calibration=calibration, controls=controls)
            found = replace(found, fresh=fresh.result(), varied=varied.result())
        if any(run.end.how != "closed" or any(r.outcome != "passed" for r in run.results) for run in found.fresh):
            found = replace(found, fresh_base=harder.fresh(self.runner(self.scene.base()), found))
        if harder.differs(found):
            found = replace(found, varied_base=harder.varied(self.runner(self.scene.base()), found, self.secret))
        return found


def workers() -> int:
    """How many runs go side by side."""
    return 2 if (os.cpu_count() or 1) > 1 else 1
