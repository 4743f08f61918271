"""The walk of one change: read what base seals, judge the three legs, join them.

Reading and running gather evidence; the legs are pure functions of it; nothing here decides. A mixed change runs nothing but the static
half of flake-lease; an oracle change goes to admission; a patch is laid over base and scored behind the wall.
"""

from __future__ import annotations

import errno
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from trivet.errors import HostError, TrivetError
from trivet.git import CommitTree, Repository, open_repository
from trivet.leasing import seen
from trivet.legs import lease as lease_leg
from trivet.legs import oracle as oracle_leg
from trivet.legs import score as score_leg
from trivet.legs.join import join
from trivet.model import LEGS, ChangeFacts, Commit, Decision, LeaseMatch, Ledger, LegName, Policy, ScoreEvidence, Seal, SkipSite, Verdict
from trivet.pace import SILENT, Show
from trivet.room import Room
from trivet.scoring import Request, Scene, gather
from trivet.sealed.changes import read_changes
from trivet.sealed.ledger import read_ledger
from trivet.sealed.manifest import read_seal
from trivet.sealed.matching import match_leases
from trivet.sealed.policy import read_policy
from trivet.sealed.skips import scan_skips
from trivet.stage.cache import Cache
from trivet.stage.overlay import plan_overlay
from trivet.stage.pool import Pool
from trivet.stage.replay import asked, epoch_bucket, find_python, replay_key
from trivet.stage.wall import choose
from trivet.zones import Zones

_SHORT_OF = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM})


def _silent(_line: str) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRequest:
    """One judgement to make. ``now`` is the door's one clock reading; flags that are None leave the policy as it is.

    ``legs``: the legs to judge; the others stay NOT_RUN (for separate CI jobs). ``cache`` None keeps no records; with ``audit`` none are
    read, only kept. ``warn`` is told one line about what the user has to know.
    ``secret`` and ``split`` (files that run split) repeat an earlier judgement; None draws one and finds them out.
    ``repository``: its name as the caller knows it, which stands in the decision. ``key_file``: the private key that signs, which the run
    must not reach.
    """

    repo: Path
    base: str
    head: str
    now: float
    repository: str = ""
    key_file: Path | None = None
    python: str | None = None
    review: Path | None = None
    isolation: str | None = None
    controls: str | None = None
    wall: str | None = None
    vary: bool = False
    reruns: int | None = None
    cache: Path | None = None
    audit: bool = False
    secret: int | None = None
    split: tuple[str, ...] | None = None
    advisory: bool = True
    legs: tuple[LegName, ...] = LEGS
    show: Show = SILENT
    warn: Callable[[str], None] = _silent


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is known before anything runs: both commits, base's policy, seal and ledger, and the change by zones."""

    base: Commit
    head: Commit
    merge_bases: tuple[str, ...]
    policy: Policy
    zones: Zones
    change: ChangeFacts
    kind: oracle_leg.Kind
    seal: Seal
    ledger: Ledger
    sites: tuple[SkipSite, ...]
    matches: tuple[LeaseMatch, ...]


def judge(request: GateRequest) -> Decision:
    """Judge one change.

    Raises:
        TrivetError: the gate cannot do its work; the merge stays blocked.
    """
    decision = _judged(request)
    return replace(decision, facts={**decision.facts, "repository": request.repository}) if request.repository else decision


def _judged(request: GateRequest) -> Decision:
    try:
        with open_repository(request.repo) as repository:
            situation = read_situation(repository, request)
            if request.key_file is not None:
                from trivet.signing import keep_apart  # noqa: PLC0415 - only signers pay for it

                keep_apart(request.key_file, repository, situation.policy, request)
            if situation.kind == "oracle":
                from trivet.admission import admit  # noqa: PLC0415 - the other change set; loaded when it is met

                return admit(repository, request, situation)
            return _judge_patch(repository, request, situation)
    except OSError as error:
        if error.errno not in _SHORT_OF:
            raise
        raise HostError(
            f"this host cannot do it: {error.strerror}",
            where=str(error.filename or ""),
            hint="free some space, or let TMPDIR name a folder that has room for two copies of the repository's tree",
        ) from error


def read_situation(repository: Repository, request: GateRequest) -> Situation:
    """Read what base says and what the change is; flags tighten the policy, and are part of its digest's facts through the run."""
    base, head = repository.commit(request.base), repository.commit(request.head)
    merge_bases = repository.merge_bases(base.oid, head.oid)
    repository.foresee(base, head)
    tree = CommitTree(repository, base, "base")
    policy = tightened(read_policy(tree), request)
    zones = Zones(policy.zones)
    seal = read_seal(tree, policy, zones)
    change = read_changes(repository, base, head, policy, zones)
    ledger = read_ledger(tree, policy, now=request.now)
    sites = scan_skips(tree, seal.tests, policy=policy)
    return Situation(
        base=base,
        head=head,
        merge_bases=merge_bases,
        policy=policy,
        zones=zones,
        change=change,
        kind=oracle_leg.change_kind(change.changes),
        seal=seal,
        ledger=ledger,
        sites=sites,
        matches=match_leases(ledger, tree, seal.tests, policy=policy, now=request.now, memory=Cache(request.cache, audit=request.audit)),
    )


def tightened(policy: Policy, request: GateRequest) -> Policy:
    """The policy with the caller's flags; base's digest stays, since it names base's policy."""
    given: dict[str, Any] = {name: value for name in ("isolation", "controls", "wall") if (value := getattr(request, name)) is not None}
    if request.vary:
        given["vary"] = True
    if request.reruns is not None:
        given["reruns"] = max(request.reruns, policy.score.reruns)
    return replace(policy, score=replace(policy.score, **given)) if given else policy


def _judge_patch(repository: Repository, request: GateRequest, situation: Situation) -> Decision:
    facts = facts_of(situation)
    integrity = oracle_leg.judge(situation.change, situation.seal)
    _tell(request, integrity)
    wants_run = bool({"src-score", "flake-lease"} & set(request.legs))
    if integrity.status != "PASS" or not wants_run:
        head_tree = CommitTree(repository, situation.head, "head")
        sites = (*situation.sites, *new_sites(situation.sites, scan_skips(head_tree, situation.seal.tests, policy=situation.policy)))
        static = lease_leg.judge_static(situation.ledger, sites, situation.matches, now=request.now)
        _tell(request, static)
        return _only(request.legs, src_score=None, oracle_integrity=integrity, flake_lease=static, facts=facts)
    try:
        with scene_of(repository, request, situation) as (scene, run):
            facts["score_tree"] = scene.head_tree
            evidence = gather(scene, run)
            seen.note(run.cache, situation.matches, evidence.lifted, request.now)
            score = score_leg.judge(evidence, excluded=situation.policy.score.exclude, controls=situation.policy.score.controls)
            lease = lease_leg.judge(situation.ledger, situation.sites, situation.matches, evidence, request.now)
            _tell(request, score, lease)
            facts |= run_facts_of(situation, evidence, request)
            facts["recall"] = _recall_facts(request, situation, run)
            facts["advisory"] = _advisory(repository, request, situation, run)
    except TrivetError as error:
        refused = ScoreEvidence(refused=error.message + (f" ({error.where})" if error.where else ""))
        score = score_leg.judge(refused)
        score = replace(score, findings=tuple(replace(finding, next=error.hint or finding.next) for finding in score.findings))
        lease = lease_leg.judge_static(situation.ledger, situation.sites, situation.matches, now=request.now)
        _tell(request, score, lease)
    return _only(request.legs, src_score=score, oracle_integrity=integrity, flake_lease=lease, facts=facts)


def _recall_facts(request: GateRequest, situation: Situation, run: Request) -> dict[str, object]:
    """What a cache of whole verdicts has to know; no file tells it. ``lasting``: no clock, no review and no lease had a say."""
    timeless = not situation.ledger.leases and not situation.ledger.drifts and situation.policy.score.clock != "real"
    lasting = timeless and request.review is None and run.cache.store is not None
    return {"family": run.cache.family, "python": str(run.python), "lasting": lasting}


def _tell(request: GateRequest, *verdicts: Verdict) -> None:
    """Show verdicts of legs that were asked for."""
    for verdict in verdicts:
        if verdict.leg in request.legs:
            request.show.leg(verdict.leg, verdict.status, verdict.cause)


def new_sites(known: tuple[SkipSite, ...], found: tuple[SkipSite, ...]) -> tuple[SkipSite, ...]:
    """Skips that head writes and base does not; lines may have moved."""
    names = {(site.file, site.function, site.form, site.conditional) for site in known}
    return tuple(site for site in found if (site.file, site.function, site.form, site.conditional) not in names)


@contextmanager
def scene_of(repository: Repository, request: GateRequest, situation: Situation) -> Iterator[tuple[Scene, Request]]:
    """Lay out what is to be scored, choose the wall and the interpreter; everything laid is gone at the end."""
    policy = situation.policy
    overlay = plan_overlay(repository, situation.base, situation.head, situation.zones)
    python = find_python(policy.score, repo=request.repo, asked=request.python)
    wall = choose(policy.score.wall, network=policy.score.network, allow_none=True)
    room = Room("trivet-")
    folder = room.path
    scene = None
    try:
        folder.chmod(0o711)
        (folder / "trees").mkdir()
        (folder / "runs").mkdir()
        # A build command writes into the tree, and without a wall any test may: such trees are nobody else's.
        warm = request.cache is not None and wall.facts.name != "none" and not policy.score.prepare
        pool = Pool.find(request.warn) if warm else None
        scene = Scene(repository, situation.base, overlay, policy, situation.zones, situation.seal.tests, folder / "trees", pool)
        yield (
            scene,
            Request(
                wall=wall,
                python=python,
                scratch=folder / "runs",
                # Without a wall a run could write to the cache and answer for itself the next time.
                cache=Cache(None if wall.facts.name == "none" else request.cache, say=request.warn, now=request.now, audit=request.audit),
                leases=situation.matches,
                secret=request.secret,
                split=None if request.split is None else frozenset(request.split),
                progress=request.show.step,
                tick=request.show.tick,
            ),
        )
    finally:
        before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            if scene is not None:
                scene.close()
            room.close()
        finally:
            signal.signal(signal.SIGTERM, before)


def facts_of(situation: Situation) -> dict[str, object]:
    """The facts of ``decision.json`` that are known before anything runs."""
    return {
        "base": asdict_commit(situation.base),
        "head": asdict_commit(situation.head),
        "merge_base": situation.merge_bases[0] if len(situation.merge_bases) == 1 else list(situation.merge_bases),
        "score_tree": None,
        "policy": {"digest": situation.policy.digest, "source": situation.policy.source},
        "change": {
            "kind": situation.kind,
            "paths": [{"path": row.path, "zone": row.zone, "status": row.raw.status} for row in situation.change.changes],
        },
        "turned_green": [],
    }


def asdict_commit(commit: Commit) -> dict[str, str]:
    """A commit as the files name it."""
    return {"commit": commit.oid, "tree": commit.tree}


def run_facts_of(situation: Situation, evidence: ScoreEvidence, request: GateRequest) -> dict[str, object]:
    """The facts of ``decision.json`` about the run."""
    key = replay_key(
        {
            **dict(evidence.replay),
            "base": situation.base.oid,
            "head": situation.head.oid,
            "policy": situation.policy.digest,
            "epoch": epoch_bucket(request.now),
            "expired": " ".join(sorted(lease.qualname for lease in situation.ledger.leases if lease.expires_at <= request.now)),
            "asked": asked(situation.policy),
            "split": "\n".join(sorted({result.file for run in evidence.runs if run.isolation == "split" for result in run.results})),
        }
    )
    results = [result for run in evidence.runs for result in run.results]
    outcomes: dict[str, int] = {}
    for result in results:
        outcomes[result.outcome] = outcomes.get(result.outcome, 0) + 1
    controls: dict[str, int] = {}
    for control in evidence.controls:
        controls[control.outcome] = controls.get(control.outcome, 0) + 1
    calibrated = {} if evidence.calibration is None else {"base": evidence.calibration.seconds}
    return {
        "turned_green": list(score_leg.turned_green(evidence)),
        "replay_key": {**dict(key.facts), "digest": key.digest},
        "run": {
            "tests": outcomes,
            "controls": controls,
            "isolation": {run.isolation: sorted({result.file for result in run.results}) for run in evidence.runs},
            "wall": None if evidence.wall is None else asdict(evidence.wall),
            "signs": [asdict(sign) for run in evidence.runs for sign in run.signs],
            "durations": {result.id: round(result.seconds, 4) for result in results},
            "duration_s": round(sum(run.seconds for run in evidence.runs), 3),
            "calibration_s": calibrated.get("base"),
        },
    }


def _advisory(repository: Repository, request: GateRequest, situation: Situation, run: Request) -> Mapping[str, object] | None:
    """The advisory lane's report as plain data. Nothing that happens there reaches the join: errors become a note."""
    if not request.advisory or request.legs != LEGS:
        return None
    from trivet import advisory  # noqa: PLC0415 - loaded when it runs

    try:
        report = advisory.run(repository, situation.base, situation.head, situation.policy, situation.zones, run)
    except Exception as error:  # noqa: BLE001 - drafts and whatever they break never hold up a verdict
        return {"counts": {}, "coverage": None, "notes": [f"the advisory lane could not run: {error}"], "tests": []}
    return None if report is None else {**asdict(report), "counts": dict(report.counts)}


def _only(legs: tuple[LegName, ...], **parts: Any) -> Decision:
    """Join; a leg that was not asked for stays NOT_RUN."""
    names: dict[str, LegName] = {"src_score": "src-score", "oracle_integrity": "oracle-integrity", "flake_lease": "flake-lease"}
    wanted: dict[str, Verdict | None] = {key: parts[key] if leg in legs else None for key, leg in names.items()}
    return join(
        src_score=wanted["src_score"], oracle_integrity=wanted["oracle_integrity"], flake_lease=wanted["flake_lease"], facts=parts["facts"]
    )
