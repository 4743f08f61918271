"""The words of trivet: frozen values that pass between rooms.

Every value here is plain data. Paths are bytes as git stores them; times are seconds since the epoch
(``now``) or seconds of duration (``seconds``, ``*_s``); sizes are bytes (``*_b``). ``Decision.merge`` is
computed, never stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from trivet.model_policy import AdvisoryPolicy, Allow, Exclude, OraclePolicy, Override, OwnersPolicy, Policy, ScorePolicy, ZonePolicy
from trivet.model_run import (
    Calibrated,
    Calibration,
    ControlResult,
    Failure,
    Isolation,
    Outcome,
    ReplayKey,
    RunEnd,
    RunRecord,
    ScoreEvidence,
    TamperSign,
    TestResult,
    WallFacts,
)

__all__ = [
    "LEGS",
    "AdvisoryPolicy",
    "AdvisoryReport",
    "Allow",
    "Calibrated",
    "Calibration",
    "Cause",
    "Change",
    "ChangeFacts",
    "Commit",
    "ControlResult",
    "Decision",
    "Drift",
    "Duty",
    "Entry",
    "Exclude",
    "Failure",
    "Finding",
    "Isolation",
    "Lease",
    "LeaseMatch",
    "Ledger",
    "LegName",
    "Level",
    "OraclePolicy",
    "Outcome",
    "Override",
    "OwnersPolicy",
    "Placed",
    "Policy",
    "RawChange",
    "ReplayKey",
    "Review",
    "RunEnd",
    "RunRecord",
    "ScoreEvidence",
    "ScorePolicy",
    "Seal",
    "Signed",
    "SkipSite",
    "Status",
    "TamperSign",
    "TestResult",
    "Verdict",
    "WallFacts",
    "Zone",
    "ZonePolicy",
    "text_of",
]

Zone = Literal["source", "oracle", "proposed", "control", "inert"]
LegName = Literal["src-score", "oracle-integrity", "flake-lease"]
Status = Literal["PASS", "FAIL", "NOT_RUN"]
Level = Literal["error", "warning", "note"]
Cause = Literal["", "property", "missing", "tamper", "limit", "environment", "conflict", "infra"]

LEGS: tuple[LegName, LegName, LegName] = ("flake-lease", "oracle-integrity", "src-score")
"""The order in which the legs are named in ``MERGE_BLOCKED: <flake_lease> <oracle_integrity> <src_score>``."""


def text_of(path: bytes) -> str:
    """Decode a git path for people: UTF-8 with ``surrogateescape`` (reversible)."""
    return path.decode("utf-8", "surrogateescape")


# --- git ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit and its tree, both full hex object ids."""

    oid: str
    tree: str


# Values that come by the ten thousand are structs: made twenty times as quickly as frozen dataclasses, and no work for the collector.


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One leaf of a tree: a file, a link (mode 0o120000) or a gitlink (mode 0o160000)."""

    path: bytes
    mode: int
    oid: str


class RawChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One row of ``diff-tree --raw --no-renames``: status ``A``, ``M``, ``D`` or ``T``; absent sides have mode 0."""

    path: bytes
    status: str
    old_mode: int
    new_mode: int
    old_oid: str
    new_oid: str


class Placed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a path is: its zone, the rule that said so, and how it could influence a verdict ("" = it can't)."""

    zone: Zone
    by: str
    influence: str = ""


class Change(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A raw change with its zone."""

    raw: RawChange
    placed: Placed

    @property
    def path(self) -> bytes:
        """The exact bytes of the path."""
        return self.raw.path

    @property
    def zone(self) -> Zone:
        """The zone the path is in."""
        return self.placed.zone


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFacts:
    """A change set with its zones, and what was seen about it beyond names. Only new and changed paths are looked at.

    ``links``: (path, why the link or gitlink may not stand there). ``collisions``: (new path, what it collides with on some file systems).
    ``shadows``: (path, module name, what it hides). ``keys``: (control file, dotted key that moved without leave).
    ``plugins``: (metadata file, entry point group that loads into the test runner).
    """

    changes: tuple[Change, ...]
    links: tuple[tuple[bytes, str], ...] = ()
    collisions: tuple[tuple[bytes, bytes], ...] = ()
    shadows: tuple[tuple[bytes, str, str], ...] = ()
    keys: tuple[tuple[bytes, str], ...] = ()
    plugins: tuple[tuple[bytes, str], ...] = ()
    tricks: tuple[tuple[bytes, str], ...] = ()
    """(path, in which way the objects of head are no honest tree)."""


# --- what base seals ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """A way in which a manifest is not what it must be; becomes a finding of ``rule`` one to one."""

    rule: str
    message: str
    path: str
    line: int | None = None
    level: Level = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """The sealed tests and fixtures of one tree: test files in manifest order, and every drift that was found."""

    tests: tuple[str, ...]
    drifts: tuple[Drift, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """One row of the ledger. ``expires_at`` is seconds since the epoch; ``weak``: the digest is the 16-hex legacy form."""

    qualname: str
    digest: str
    signature: str
    expires_at: float
    owner: str
    reason: str
    path: str | None = None
    python: str | None = None
    source_hash: str | None = None
    weak: bool = False
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The lease ledger as read: good rows, and a drift for each bad one."""

    path: str
    leases: tuple[Lease, ...]
    drifts: tuple[Drift, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipSite:
    """A skip or xfail that is written in a sealed file.

    ``function`` is ``Class.name`` or ``name``; "" for a whole module. ``conditional``: it has a condition that may not fire here
    (``skipif(...)``, ``if ...: pytest.skip()``, importorskip); whether it fires is seen at run time.
    """

    file: str
    function: str
    line: int
    form: str
    conditional: bool
    environment: bool = False
    """The condition speaks of platform, version, user or packages alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseMatch:
    """What the ledger says about one sealed test function: the lease, or why it does not hold (a rule id and text)."""

    file: str
    function: str
    lease: Lease | None
    problem: str = ""
    rule: str = ""


# --- people ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """What one rule of CODEOWNERS asks for a path: ``needed`` different people out of ``owners``.

    ``optional``: the forge only invites them (an optional section of GitLab). ``line`` is the line of the rule, from 1.
    """

    owners: tuple[str, ...]
    line: int
    needed: int = 1
    section: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What a trusted job took from the forge; labels give no authority.

    ``teams`` are (name, logins), ``emails`` (login, addresses), ``approvals`` (login, commit).
    """

    author: str
    teams: tuple[tuple[str, tuple[str, ...]], ...] = ()
    labels: tuple[str, ...] = ()
    approvals: tuple[tuple[str, str], ...] = ()
    emails: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """Who signed one commit of a change: a principal of base's signers file, or why the signature does not count."""

    commit: str
    principal: str = ""
    problem: str = ""


# --- judging --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A fact about the patch. ``rule`` is an id of the catalogue; ``next`` says what to do."""

    rule: str
    message: str
    path: bytes | None = None
    line: int | None = None
    next: str = ""
    level: Level = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One leg's word, with its findings."""

    leg: LegName
    status: Status
    findings: tuple[Finding, ...] = ()
    cause: Cause = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisoryReport:
    """What the advisory lane saw. It has no way into the join: nothing takes this type but reports."""

    counts: tuple[tuple[str, int], ...]
    coverage: float | None = None
    notes: tuple[str, ...] = ()
    tests: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Three verdicts and what they were about. ``merge`` is their AND and nothing else."""

    src_score: Verdict
    oracle_integrity: Verdict
    flake_lease: Verdict
    facts: Mapping[str, object] = field(default_factory=dict)
    """The other keys of ``decision.json`` (base, head, score_tree, policy, change, run, replay_key …), already plain data."""

    @property
    def verdicts(self) -> tuple[Verdict, Verdict, Verdict]:
        """The verdicts in the order of ``LEGS``."""
        return (self.flake_lease, self.oracle_integrity, self.src_score)

    @property
    def merge(self) -> bool:
        """True if and only if all three verdicts are PASS."""
        return all(verdict.status == "PASS" for verdict in self.verdicts)
