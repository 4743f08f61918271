"""The words of policy: what ``trivet.toml`` on base says.

Part of ``trivet.model``, which gives these words out again; nobody imports them from here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


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
    not_collected: tuple[str, ...] = ()
    """Folders in which base's own pytest looks for no tests (its ``norecursedirs``)."""


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
    """Which CODEOWNERS file (``auto`` = search as the forges do), which OpenSSH allowed_signers file, and whose signed verdicts count."""

    codeowners: str = "auto"
    signers: str = "ci/oracle_owners"
    keys: str = "ci/trivet_keys.toml"


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
