"""The words that pass between a forge and the rest: which change, what the forge says about it, and what is to be shown there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from trivet.model import Decision, LegName

JOIN = "trivet/join"
"""The one check that a branch has to require."""
ADVISORY = "trivet/advisory"
LEG_CHECKS: dict[LegName, str] = {
    "src-score": "trivet/src-score",
    "oracle-integrity": "trivet/oracle-integrity",
    "flake-lease": "trivet/flake-lease",
}
NAMES = (*LEG_CHECKS.values(), JOIN)
"""The three named checks and the join, in the order in which they are published."""

State = Literal["pending", "running", "success", "failure", "not-run", "neutral"]
"""``not-run``: the leg gave no verdict; it is never shown as something that a forge takes for a success."""
DONE: frozenset[State] = frozenset({"success", "failure", "not-run", "neutral"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A change as the forge has it now.

    ``number`` is the pull or merge request, None for a merge queue entry; ``base_ref`` the branch it goes into, without ``refs/heads/``;
    ``base`` the commit of that branch as the forge tells it; ``author`` a login; ``is_open`` whether it can still be merged;
    ``queue_ref`` the branch of the merge queue entry, "" otherwise.
    """

    number: int | None
    head: str
    base: str
    base_ref: str
    author: str = ""
    is_open: bool = True
    labels: tuple[str, ...] = ()
    queue_ref: str = ""

    @property
    def name(self) -> str:
        """What people call it."""
        return f"#{self.number}" if self.number is not None else self.queue_ref


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Authorship and approvals of one change; ``approvals`` are (login, commit), ``teams`` (team, logins)."""

    author: str
    approvals: tuple[tuple[str, str], ...] = ()
    labels: tuple[str, ...] = ()
    teams: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Evidence:
        """The evidence that `document` gives."""
        return cls(
            author=str(document["author"]),
            approvals=tuple((str(row["login"]), str(row["commit"])) for row in document.get("approvals", ())),
            labels=tuple(map(str, document.get("labels", ()))),
            teams=tuple((str(team), tuple(map(str, members))) for team, members in document.get("teams", {}).items()),
        )

    def document(self) -> dict[str, object]:
        """The review evidence that ``--review`` reads."""
        return {
            "author": self.author,
            "teams": {team: list(members) for team, members in self.teams},
            "labels": list(self.labels),
            "approvals": [{"login": login, "commit": commit} for login, commit in self.approvals],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One remark at a line of the change; ``level`` as in findings."""

    path: str
    line: int
    level: Literal["error", "warning", "note"]
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One named check as it should be shown. ``digest`` changes with anything of it that can be seen."""

    name: str
    state: State
    title: str
    summary: str = ""
    notes: tuple[Note, ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What publishing did: names of checks that were written, and why the decision is no longer of use ("" = it is)."""

    wrote: tuple[str, ...] = ()
    stale: str = ""


EventKind = Literal["change", "closed", "queue", "queue-gone", "members", "installation", "ping", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What a webhook delivery is about, once its signature was checked. Nothing of it is evidence: it only says where to look.

    ``delivery`` is the forge's id of the delivery; ``repository`` ``owner/name`` or the path of a project; ``repository_id`` its number as
    text; ``subject`` is set for ``queue`` and ``queue-gone`` only, where no API tells the entry.
    """

    kind: EventKind
    delivery: str
    repository: str = ""
    repository_id: str = ""
    number: int | None = None
    installation: int | None = None
    subject: Subject | None = None
    name: str = ""


class Forge(Protocol):
    """What a forge can do for one repository; each method may raise `ForgeError`, and calls the network."""

    def subject(self, number: int) -> Subject:
        """The change as it is now (1 call)."""

    def current(self, subject: Subject) -> Subject | None:
        """The same change as it is now, None when it is gone (1 call)."""

    def open_changes(self) -> tuple[Subject, ...]:
        """All changes that could be merged (1 call for each hundred)."""

    def approvals(self, subject: Subject) -> Evidence:
        """Author, labels and approvals (1 call): equal where nothing changed, but evidence only after `complete`."""

    def complete(self, subject: Subject, evidence: Evidence, teams: tuple[str, ...], *, fresh: bool = True) -> Evidence:
        """What ``--review`` may rely on: approvals of exact commits, and members of the named teams; who cannot be read has none."""

    def begin(self, subject: Subject) -> Published:
        """Show that the change is being judged; a green of before is gone afterwards."""

    def finish(self, subject: Subject, decision: Decision, *, evidence: Evidence | None = None) -> Published:
        """Show the decision: a success last, and only while the change is still the one that was judged.

        ``evidence``: what an oracle change was judged with; a success is not shown where its approvals are others by now (1 or 2 calls).
        """

    def comment(self, subject: Subject, decision: Decision, *, always: bool = False) -> Published:
        """Write the one comment, or bring it up to date."""
