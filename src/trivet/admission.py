"""The walk of an oracle change: who stands behind it, is head in step with itself, and can its new properties refuse.

Authority, owners and signers are read from base. What head brings is read from the merge of head into base: that is what would stand
after the merge. Head's oracle runs on base's source, and only when an owner stands behind it and its manifests are in step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol

from trivet.admission_trials import Means, Trial, run_trials
from trivet.errors import PolicyError, TrivetError, UsageError
from trivet.git import CommitTree, Repository, open_repository
from trivet.legs import admission as leg
from trivet.legs import authority
from trivet.legs import lease as lease_leg
from trivet.legs import oracle as oracle_leg
from trivet.legs.join import join
from trivet.model import (
    LEGS,
    ChangeFacts,
    Commit,
    Decision,
    Drift,
    LeaseMatch,
    Ledger,
    LegName,
    Policy,
    ScoreEvidence,
    Seal,
    SkipSite,
    Verdict,
    text_of,
)
from trivet.pace import SILENT, Show
from trivet.sealed.changes import read_changes
from trivet.sealed.lease_ends import moved_ends
from trivet.sealed.ledger import read_ledger
from trivet.sealed.manifest import read_seal
from trivet.sealed.matching import match_leases
from trivet.sealed.owners import Owners, read_owners
from trivet.sealed.policy import read_policy
from trivet.sealed.properties import Property, read_properties
from trivet.sealed.review import read_review
from trivet.sealed.signers import check_commits, read_signers
from trivet.sealed.skips import scan_skips
from trivet.sealed.twins import new_twins
from trivet.signing import keep_apart
from trivet.stage.replay import epoch_bucket, replay_key
from trivet.zones import Zones, match

_QUIET = ("CODEOWNERS", ".github/**", ".gitlab/**", ".gitlab-ci.yml", ".gitea/**", ".forgejo/**", "*.md", "docs/**", "LICENSE*")
"""Paths that no run of sealed tests can see."""


class _Request(Protocol):
    """What the caller wants: a part of the gate's request."""

    @property
    def repo(self) -> Path: ...
    @property
    def now(self) -> float: ...
    @property
    def python(self) -> str | None: ...
    @property
    def review(self) -> Path | None: ...
    @property
    def cache(self) -> Path | None: ...
    @property
    def legs(self) -> tuple[LegName, ...]: ...
    @property
    def show(self) -> Show: ...


class _Situation(Protocol):
    """What is known before: both commits, base's policy and seal, the change by zones."""

    @property
    def base(self) -> Commit: ...
    @property
    def head(self) -> Commit: ...
    @property
    def merge_bases(self) -> tuple[str, ...]: ...
    @property
    def policy(self) -> Policy: ...
    @property
    def zones(self) -> Zones: ...
    @property
    def change(self) -> ChangeFacts: ...
    @property
    def seal(self) -> Seal: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """Head as it would stand after the merge, read by its own policy. ``unreadable``: what of it cannot be read."""

    tree: CommitTree
    policy: Policy
    zones: Zones
    seal: Seal
    ledger: Ledger
    sites: tuple[SkipSite, ...]
    matches: tuple[LeaseMatch, ...]
    owners: Owners
    unreadable: tuple[Drift, ...]
    conflicts: tuple[str, ...]


def admit(repository: Repository, request: _Request, situation: _Situation) -> Decision:
    """Judge an oracle change; all three verdicts must be PASS for it to merge.

    Raises:
        TrivetError: something of base cannot be read.
    """
    base_tree = CommitTree(repository, situation.base, "base")
    head = _read_head(repository, situation, now=request.now)
    standing, owners = _standing(repository, request, situation, base_tree)
    candidates, removed = _candidates(base_tree, situation, head)
    evidence = leg.AdmissionEvidence(
        standing=standing,
        findings=(*oracle_leg.findings_of_names(situation.change), *oracle_leg.findings_of_seal(head.seal)),
        owners=_owner_problems(owners, head.owners),
        unowned=_unowned(head, owners),
        unreadable=head.unreadable,
        twins=new_twins(base_tree, situation.seal.tests, head.tree, head.seal.tests),
        candidates=candidates,
        removed=removed,
        conflicts=head.conflicts,
        ledger_moved=_ledger_moved(situation, head),
        ends_moved=_ends_moved(base_tree, situation, head, request.now),
        fixtures_moved=_fixtures_moved(situation, head),
    )
    run: ScoreEvidence | None = None
    integrity = leg.judge_integrity(evidence)
    if integrity.status == "PASS" and not head.conflicts and set(request.legs) != {"oracle-integrity"}:
        evidence, run = _tried(repository, request, situation, head, evidence)
        integrity = leg.judge_integrity(evidence)
    if run is None:
        lease = lease_leg.judge_static(head.ledger, head.sites, head.matches, now=request.now)
    else:
        lease = lease_leg.judge(head.ledger, head.sites, head.matches, run, request.now)
    verdicts: dict[LegName, Verdict] = {"oracle-integrity": integrity, "src-score": leg.judge_score(evidence), "flake-lease": lease}
    asked = {name: verdicts[name] if name in request.legs else None for name in LEGS}
    for verdict in filter(None, reversed(asked.values())):
        request.show.leg(verdict.leg, verdict.status, verdict.cause)
    return join(
        oracle_integrity=asked["oracle-integrity"],
        src_score=asked["src-score"],
        flake_lease=asked["flake-lease"],
        facts=_facts(situation, head, evidence, run, now=request.now),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmitRequest:
    """One oracle change to judge by itself, as ``trivet admit`` asks for it; see the gate's request for the fields."""

    repo: Path
    base: str
    head: str
    now: float
    python: str | None = None
    review: Path | None = None
    cache: Path | None = None
    key_file: Path | None = None
    legs: tuple[LegName, ...] = LEGS
    show: Show = SILENT


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    base: Commit
    head: Commit
    merge_bases: tuple[str, ...]
    policy: Policy
    zones: Zones
    change: ChangeFacts
    seal: Seal


def judge(request: AdmitRequest) -> Decision:
    """Read an oracle change and judge it.

    Raises:
        UsageError: the change holds production code, or moves neither oracle nor control paths.
        TrivetError: something of base cannot be read.
    """
    with open_repository(request.repo) as repository:
        base, head = repository.commit(request.base), repository.commit(request.head)
        tree = CommitTree(repository, base, "base")
        policy = read_policy(tree)
        if request.key_file is not None:
            keep_apart(request.key_file, repository, policy, request)
        zones = Zones(policy.zones)
        change = read_changes(repository, base, head, policy, zones)
        kind = oracle_leg.change_kind(change.changes)
        if kind != "oracle":
            hint = "`trivet split` makes two branches out of it" if kind == "mixed" else "`trivet gate` judges it"
            raise UsageError(f"this is no oracle change but {'a mixed one' if kind == 'mixed' else 'a patch'}", hint=hint)
        situation = _Read(
            base=base,
            head=head,
            merge_bases=repository.merge_bases(base.oid, head.oid),
            policy=policy,
            zones=zones,
            change=change,
            seal=read_seal(tree, policy, zones),
        )
        return admit(repository, request, situation)


def _read_head(repository: Repository, situation: _Situation, *, now: float) -> _Head:
    merged = repository.merge(situation.base, situation.head)
    conflicts = tuple(map(text_of, merged.conflicts))
    commit = situation.head if conflicts else Commit(oid=situation.head.oid, tree=merged.tree)
    tree = CommitTree(repository, commit, "head")
    unreadable: list[Drift] = []
    policy = situation.policy
    try:
        policy = read_policy(tree)
    except PolicyError as error:
        message = f"head's policy cannot be read: {error.message}" + (f" ({error.where})" if error.where else "")
        unreadable.append(Drift(rule="TRV127", message=message, path=(error.where or "trivet.toml").split(" ")[0].split(":")[0]))
    zones = Zones(policy.zones)
    seal = read_seal(tree, policy, zones)
    ledger = read_ledger(tree, policy, now=now)
    return _Head(
        tree=tree,
        policy=policy,
        zones=zones,
        seal=seal,
        ledger=ledger,
        sites=scan_skips(tree, seal.tests, policy=policy),
        matches=match_leases(ledger, tree, seal.tests, policy=policy, now=now),
        owners=read_owners(tree, policy),
        unreadable=tuple(unreadable),
        conflicts=conflicts,
    )


# --- people -------------------------------------------------------------------------------------


def _standing(repository: Repository, request: _Request, situation: _Situation, base_tree: CommitTree) -> tuple[authority.Standing, Owners]:
    owners = read_owners(base_tree, situation.policy)
    moved = [change.path for change in situation.change.changes if change.zone in ("oracle", "control")]
    commits = repository.commits(situation.base, situation.head)
    signed = check_commits(repository, commits, read_signers(base_tree, situation.policy), now=request.now)
    review = read_review(request.review) if request.review is not None else None
    claims = tuple(authority.Claim(path=path, duties=owners.duties(path)) for path in moved)
    standing = authority.judge(claims, head=situation.head.oid, commits=commits, review=review, signed=signed, codeowners=owners.path)
    return standing, owners


def _owner_problems(base: Owners, head: Owners) -> tuple[Drift, ...]:
    """Problems of head's file count; those of base's only where head keeps them: a change that repairs the file must be able to pass."""
    gone = [Drift(rule="TRV116", message="head has no CODEOWNERS any more", path=base.path)] if base.path and not head.path else []
    repaired = base.problems if head.path and not head.problems else ()
    told = [Drift(rule=row.rule, message=f"on base: {row.message}", path=row.path, line=row.line, level="warning") for row in repaired]
    return (*gone, *head.problems, *told)


def _unowned(head: _Head, base: Owners) -> tuple[bytes, ...]:
    """Sealed paths of head, and the files that say who owns them, for which head's CODEOWNERS names nobody."""
    if not head.owners.path:
        return ()
    named = (head.owners.path, head.policy.owners.signers, head.policy.owners.keys, "trivet.toml")
    roots = head.zones.oracle_roots
    sealed = [entry.path for entry in head.tree.entries(roots) if match(head.policy.zones.oracle, entry.path)]
    also = [entry.path for entry in head.tree.entries(tuple(name.encode() for name in named))]
    # A file outside the oracle zone that nobody owned before is not this change's fault.
    kept = [path for path in also if base.duties(path) or path == head.owners.path.encode()]
    return tuple(path for path in (*sealed, *kept) if not head.owners.duties(path))


# --- properties ---------------------------------------------------------------------------------


def _candidates(base_tree: CommitTree, situation: _Situation, head: _Head) -> tuple[tuple[leg.Candidate, ...], tuple[str, ...]]:
    before = {(row.file, row.function): row for row in read_properties(base_tree, situation.seal.tests, situation.policy, situation.zones)}
    after = read_properties(head.tree, head.seal.tests, head.policy, head.zones)
    rows = tuple(_candidate(row, before.get((row.file, row.function))) for row in after)
    left = {(row.file, row.function) for row in after}
    return rows, tuple(row.name for key, row in before.items() if key not in left)


def _candidate(row: Property, old: Property | None) -> leg.Candidate:
    known = frozenset(fault.rule for fault in old.faults) if old else frozenset()
    if old is None:
        return leg.Candidate(file=row.file, function=row.function, line=row.line, state="new", faults=row.faults, reads=row.reads)
    return leg.Candidate(
        file=row.file,
        function=row.function,
        line=row.line,
        state="same" if old.digest == row.digest else "changed",
        faults=row.faults,
        reads=row.reads,
        known=known,
    )


def _ledger_moved(situation: _Situation, head: _Head) -> bool:
    ledgers = {situation.policy.oracle.leases, head.policy.oracle.leases}
    return any(text_of(change.path) in ledgers for change in situation.change.changes)


def _ends_moved(base_tree: CommitTree, situation: _Situation, head: _Head, now: float) -> tuple[Drift, ...]:
    if not _ledger_moved(situation, head):
        return ()
    policy = situation.policy
    before = match_leases(read_ledger(base_tree, policy, now=now), base_tree, situation.seal.tests, policy=policy, now=now)
    return tuple(moved_ends(base_tree, head.tree, before, head.matches, policies=(policy, head.policy), path=head.ledger.path))


def _is_opaque(head: _Head) -> bool:
    """Whether production code is compiled, or may be: a trace does not see every function of it."""
    compiled = (b".so", b".pyd", b".pyx", b".c", b".cpp", b".rs")
    if head.policy.score.prepare:
        return True
    return any(entry.path.endswith(compiled) and head.zones.place(entry.path).zone == "source" for entry in head.tree.entries())


def _fixtures_moved(situation: _Situation, head: _Head) -> bool:
    """Whether sealed data moved: then a test whose text did not change may still say something new."""
    lists = {head.policy.oracle.manifest, head.policy.oracle.leases, *head.policy.oracle.digests}
    moved = [text_of(change.path) for change in situation.change.changes if change.zone == "oracle"]
    return any(not path.endswith(".py") and path not in lists for path in moved)


# --- running ------------------------------------------------------------------------------------


def _tried(
    repository: Repository, request: _Request, situation: _Situation, head: _Head, evidence: leg.AdmissionEvidence
) -> tuple[leg.AdmissionEvidence, ScoreEvidence | None]:
    trial = Trial(
        base=situation.base,
        merged=head.tree.commit.tree,
        base_tests=situation.seal.tests,
        head_tests=head.seal.tests,
        candidates=evidence.candidates,
        leases=head.matches,
        opaque=_is_opaque(head),
        quiet=all(match(_QUIET, change.path) for change in situation.change.changes),
    )
    means = Means(repo=request.repo, python=request.python, cache=request.cache, progress=request.show.step, tick=request.show.tick)
    try:
        trials, run = run_trials(repository, trial, situation.policy, situation.zones, means)
    except TrivetError as error:
        refused = error.message + (f" ({error.where})" if error.where else "") + (f"; {error.hint}" if error.hint else "")
        return replace(evidence, trials=leg.Trials(refused=refused)), None
    return replace(evidence, trials=trials), run


def _facts(
    situation: _Situation, head: _Head, evidence: leg.AdmissionEvidence, run: ScoreEvidence | None, *, now: float
) -> Mapping[str, object]:
    facts: dict[str, object] = {
        "base": {"commit": situation.base.oid, "tree": situation.base.tree},
        "head": {"commit": situation.head.oid, "tree": situation.head.tree},
        "merge_base": situation.merge_bases[0] if len(situation.merge_bases) == 1 else list(situation.merge_bases),
        "score_tree": head.tree.commit.tree if run is not None else None,
        "policy": {"digest": situation.policy.digest, "source": situation.policy.source},
        "change": {
            "kind": "oracle",
            "paths": [{"path": row.path, "zone": row.zone, "status": row.raw.status} for row in situation.change.changes],
        },
        "turned_green": [],
    }
    if run is None or not run.runs:
        return facts
    ids = {"base": situation.base.oid, "head": situation.head.oid, "policy": situation.policy.digest, "epoch": epoch_bucket(now)}
    key = replay_key({**dict(run.replay), **ids})
    outcomes: dict[str, int] = {}
    for result in run.runs[0].results:
        outcomes[result.outcome] = outcomes.get(result.outcome, 0) + 1
    certificates = leg.certificates(evidence)
    facts["replay_key"] = {**dict(key.facts), "digest": key.digest}
    facts["run"] = {
        "tests": outcomes,
        "controls": {"red": sum(row.controls for row in certificates)},
        "isolation": {"shared": list(run.files)},
        "wall": None if run.wall is None else asdict(run.wall),
        "duration_s": round(run.runs[0].seconds, 3),
        "authority": evidence.standing.by,
        "certificates": [asdict(row) for row in certificates],
    }
    return facts
