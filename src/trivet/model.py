"""The words of trivet: frozen values that pass between rooms.

Every value here is plain data. Paths are bytes as git stores them; times are seconds since the epoch
(``now``) or seconds of duration (``seconds``, ``*_s``); sizes are bytes (``*_b``). ``Decision.merge`` is
computed, never stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Zone = Literal["source", "oracle", "proposed", "control", "inert"]
LegName = Literal["src-score", "oracle-integrity", "flake-lease"]
Status = Literal["PASS", "FAIL", "NOT_RUN"]
Level = Literal["error", "warning", "note"]
Cause = Literal["", "property", "missing", "tamper", "limit", "environment", "conflict", "infra"]
Isolation = Literal["shared", "split"]
Outcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One leaf of a tree: a file, a link (mode 0o120000) or a gitlink (mode 0o160000)."""

    path: bytes
    mode: int
    oid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RawChange:
    """One row of ``diff-tree --raw --no-renames``: status ``A``, ``M``, ``D`` or ``T``; absent sides have mode 0."""

    path: bytes
    status: str
    old_mode: int
    new_mode: int
    old_oid: str
    new_oid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where a path is: its zone, the rule that said so, and how it could influence a verdict ("" = it can't)."""

    zone: Zone
    by: str
    influence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
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


# --- policy ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Allow:
    """A TOML control file of which the named dotted keys may move together with production code."""

    path: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ZonePolicy:
    """Gitignore-style patterns of each zone; ``control`` holds only what the policy adds to the built-in list."""

    source: tuple[str, ...]
    oracle: tuple[str, ...]
    proposed: tuple[str, ...]
    inert: tuple[str, ...]
    control: tuple[str, ...] = ()
    allow: tuple[Allow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OraclePolicy:
    """Where manifests and ledger are. ``manifest`` None: the list is generated from ``generated`` patterns (preset lanes)."""

    manifest: str | None
    digests: tuple[str, ...]
    leases: str | None
    max_lease_days: int = 90
    generated: tuple[str, ...] = ()
    test_patterns: tuple[str, ...] = ("test_*.py", "*_test.py")
    """File-name patterns of test modules (base's own ``python_files``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclude:
    """A sealed test id that cannot run in this environment; printed on every verdict."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """Another isolation for the sealed files that match ``path`` (gitignore pattern)."""

    path: str
    isolation: Literal["shared", "split", "auto"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePolicy:
    """How the sealed oracles run. ``clock`` is an ISO time or ``real``; ``clock_asked``: the policy names it itself."""

    python: str | None = None
    paths: tuple[str, ...] = ("src", ".")
    prepare: tuple[str, ...] = ()
    clock: str = "2026-09-22T12:00:00Z"
    clock_asked: bool = False
    seed: int = 20260922
    isolation: Literal["shared", "split", "auto"] = "auto"
    split_budget: float = 3.0
    controls: Literal["all", "sample", "off"] = "sample"
    wall: Literal["auto", "kernel", "bubblewrap", "none"] = "auto"
    network: Literal["none", "loopback"] = "none"
    timeout_s: float = 600.0
    test_timeout_s: float = 60.0
    memory_b: int = 2_147_483_648
    processes: int = 64
    output_b: int = 10_485_760
    scratch_b: int = 1_073_741_824
    reruns: int = 2
    fresh: int = 25
    vary: bool = False
    env: tuple[tuple[str, str], ...] = ()
    exclude: tuple[Exclude, ...] = ()
    override: tuple[Override, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisoryPolicy:
    """Limits of the advisory lane."""

    timeout_s: float = 300.0
    reruns: int = 2
    coverage: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnersPolicy:
    """Which CODEOWNERS file (``auto`` = search as the forges do) and which OpenSSH allowed_signers file."""

    codeowners: str = "auto"
    signers: str = "ci/oracle_owners"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The whole policy as base states it. ``source`` says where it came from; ``digest`` is SHA-256 of its canonical JSON."""

    preset: Literal["verdicts", "lanes"]
    source: str
    digest: str
    zones: ZonePolicy
    oracle: OraclePolicy
    score: ScorePolicy = field(default_factory=ScorePolicy)
    advisory: AdvisoryPolicy = field(default_factory=AdvisoryPolicy)
    owners: OwnersPolicy = field(default_factory=OwnersPolicy)


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


# --- running --------------------------------------------------------------------------------------


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
    """What a correct run looks like, learnt from base. ``split_files``: files that run split under ``auto``; ``alone``: files that pass when run alone."""

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
