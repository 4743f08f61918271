"""What a page of the dashboard shows: frozen values, already allowed for whoever asks, without a database or a request in sight.

Times are seconds since the epoch; durations are seconds (``*_s``); commits are full hex ids. Lists are in the order in which they are
shown. Whoever builds a view has already left out what the reader's feedback level hides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trivet.model import LegName, Level, Status

State = Literal["queued", "running", "decided", "failed", "superseded", "cancelled"]
"""Where a run is. ``failed``: no decision could be reached (infrastructure); the merge stays blocked."""

Word = Literal["merge", "blocked", "undecided", "running", "queued", "superseded"]
"""What a run comes to, in one word that has a shape and a colour of its own."""


def word_of(state: State, merge: bool | None, statuses: tuple[Status, ...]) -> Word:  # noqa: FBT001 - three-valued, not a switch
    """The one word for a run; a decision in which nothing failed but something was not run is ``undecided``."""
    match state:
        case "queued" | "running":
            return state
        case "superseded" | "cancelled":
            return "superseded"
        case "failed":
            return "undecided"
        case "decided":
            if merge:
                return "merge"
            return "blocked" if "FAIL" in statuses else "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What stands around every page: who reads it, when, and the token that makes its forms his own."""

    now: float
    section: str
    reader: str = ""
    """Empty: nobody has signed in, and the page shows what is public."""
    menu: bool = False
    admin: bool = False
    csrf: str = ""
    service: str = "trivet"
    address: str = "URL"
    """Where the service is reached, for the commands that a page suggests."""
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """The runs that ended on one UTC day (``2026-12-01``)."""

    day: str
    merged: int = 0
    blocked: int = 0
    undecided: int = 0

    @property
    def total(self) -> int:
        """All runs of the day."""
        return self.merged + self.blocked + self.undecided


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """How many runs were blocked by one rule."""

    rule: str
    title: str
    leg: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run in a list. ``cursor`` names the place after it, for the next page."""

    id: str
    repo: str
    base: str
    head: str
    state: State
    at: float
    merge: bool | None = None
    statuses: tuple[Status, ...] = ()
    """src-score, oracle-integrity, flake-lease; empty where there is no decision."""
    cause: str = ""
    duration_s: float | None = None
    step: str = ""
    cursor: str = ""

    @property
    def word(self) -> Word:
        """What it comes to."""
        return word_of(self.state, self.merge, self.statuses)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepoRow:
    """One repository in the overview; the counts are of the window that the overview names."""

    name: str
    merged: int = 0
    blocked: int = 0
    undecided: int = 0
    leases: int = 0
    leases_ending: int = 0
    """Leases that end within seven days or have ended."""
    last_at: float | None = None
    last_word: Word | None = None
    last_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The first page. ``days`` covers the window, oldest first, without gaps."""

    repos: tuple[RepoRow, ...]
    days: tuple[Day, ...]
    reasons: tuple[Reason, ...]
    queue: tuple[RunRow, ...]
    waiting: int
    running: int
    recent: tuple[RunRow, ...]
    total: int
    """All runs that were ever decided, in the repositories that the reader may see."""
    repo: str = ""
    """The one repository that is shown; empty for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """What a list of runs is narrowed to; empty words do not narrow."""

    repo: str = ""
    word: str = ""
    rule: str = ""
    head: str = ""
    cursor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunList:
    """One page of runs, newest first. ``next`` is the cursor of the page after it; empty on the last."""

    rows: tuple[RunRow, ...]
    filter: RunFilter
    repos: tuple[str, ...]
    next: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """One finding under its rule."""

    message: str
    path: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleGroup:
    """The findings of one rule in one leg, and what to do."""

    rule: str
    title: str
    why: str
    level: Level
    spots: tuple[Spot, ...]
    hidden: int
    """Findings that the page leaves out."""
    next: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LegView:
    """One leg on the page of a run."""

    leg: LegName
    question: str
    status: Status
    cause: str
    groups: tuple[RuleGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a run on its way. ``state``: ``done``, ``now``, ``ahead`` or ``broken``."""

    name: str
    state: Literal["done", "now", "ahead", "broken"]
    at: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long one sealed test took, and how it ended where that is known."""

    test: str
    seconds: float
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One changed path with its zone."""

    path: str
    zone: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """One file of evidence."""

    name: str
    href: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlace:
    """Where a signed decision stands in the transparency log."""

    index: int
    size: int
    root: str
    """Hex digest of the log's head that proves it."""
    key_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """The page of one run."""

    row: RunRow
    submitted_at: float
    started_at: float | None
    finished_at: float | None
    outcome: str
    """One sentence."""
    why: str = ""
    """Why there is no decision, where there is none."""
    steps: tuple[Step, ...] = ()
    legs: tuple[LegView, ...] = ()
    turned_green: tuple[str, ...] = ()
    change_kind: str = ""
    moved: tuple[Moved, ...] = ()
    tests: tuple[tuple[str, int], ...] = ()
    controls: tuple[tuple[str, int], ...] = ()
    isolation: tuple[tuple[str, int], ...] = ()
    wall: str = ""
    guarantees: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    timings: tuple[Timing, ...] = ()
    """The slowest tests, slowest first."""
    timed: int = 0
    timed_s: float = 0.0
    advisory: tuple[str, ...] = ()
    identity: tuple[tuple[str, str], ...] = ()
    replay: tuple[tuple[str, str], ...] = ()
    replay_digest: str = ""
    downloads: tuple[Download, ...] = ()
    log: LogPlace | None = None
    signed_by: str = ""
    feedback: str = "full"
    superseded_by: str = ""
    cached: bool = False

    @property
    def live(self) -> bool:
        """Whether the run is still on its way."""
        return self.row.state in ("queued", "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRow:
    """One row of a ledger of leases. ``since``: when the service first saw it."""

    repo: str
    test: str
    owner: str
    reason: str
    signature: str
    expires_at: float
    since: float | None = None
    base: str = ""

    def state(self, now: float) -> Literal["holds", "ending", "ended"]:
        """``ending``: within seven days."""
        left = self.expires_at - now
        return "ended" if left <= 0 else "ending" if left <= 7 * 86400 else "holds"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseList:
    """All leases of the repositories shown, those that end first first."""

    rows: tuple[LeaseRow, ...]
    repos: tuple[str, ...]
    repo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakyRow:
    """One sealed test that ended differently for one tree. ``seen``: how often; ``last_run``: id of the run where it was seen last."""

    repo: str
    test: str
    seen: int
    first_at: float
    last_at: float
    last_run: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakyList:
    """Flaky tests, most often seen first."""

    rows: tuple[FlakyRow, ...]
    repos: tuple[str, ...]
    repo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerGroup:
    """The rules of CODEOWNERS of one repository, in file order, as (pattern, owners); the last that matches a path counts."""

    repo: str
    rules: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnersView:
    """Who may change oracles, as the newest judged base of each repository says."""

    groups: tuple[OwnerGroup, ...]
    repos: tuple[str, ...]
    repo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """One access token, without what would let anybody use it."""

    name: str
    scopes: tuple[str, ...]
    repos: tuple[str, ...]
    created_at: float | None = None
    expires_at: float | None = None
    used_at: float | None = None
    revoked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The configuration in words: (title, rows of (key, value)); no secret is ever part of it."""

    groups: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    tokens: tuple[TokenRow, ...] = ()
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a page is not shown, and what to do."""

    status: int
    title: str
    message: str
    hint: str = ""
    href: str = ""
    label: str = ""
