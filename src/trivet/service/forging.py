"""Forges: what came by webhook or poll is looked up at the forge, asked for, and published there, through the adapters in ``trivet.forge``.

Nothing of a delivery is believed but where to look. A decision is shown for exactly the change that was judged, pending first, green last.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from trivet.errors import ForgeError, ServiceError
from trivet.forge.app import AppTokens
from trivet.forge.github import GitHub
from trivet.forge.gitlab import GitLab
from trivet.forge.words import Event, Evidence, Forge, Subject
from trivet.git import open_repository
from trivet.model import Decision
from trivet.reviewing import carried, named_teams, queued_number
from trivet.service import reading
from trivet.service.asking import REVIEW, SUBJECT, Taking, ask_for, cancel
from trivet.service.mirrors import Mirrors
from trivet.service.rows import ScoreRow
from trivet.service.settings import ForgeTable, Repository, Settings, read_secret
from trivet.service.store import Store

GITHUB, GITLAB = "https://api.github.com", "https://gitlab.com/api/v4"
Make = Callable[[Repository], Forge]


def maker(settings: Settings) -> Make:
    """What makes the adapter of a repository.

    Raises:
        ServiceError: the settings of its forge are missing or incomplete (when called).
    """

    def make(repo: Repository) -> Forge:
        table = _table(settings, repo)
        details = f"{settings.server.public_url}/repos/{repo.name}" if settings.server.public_url else ""
        if repo.forge == "github":
            url = table.url or GITHUB
            return GitHub(url, repo.forge_name, token=_token(table, url, repo), login=table.login, app=table.app_id, details=details)
        return GitLab(table.url or GITLAB, repo.forge_name, token=_token(table, "", repo), details=details)

    return make


def _table(settings: Settings, repo: Repository) -> ForgeTable:
    table = {"github": settings.forges.github, "gitlab": settings.forges.gitlab}.get(repo.forge)
    if table is None:
        raise ServiceError(f"repository {repo.name!r} has no forge to publish to", hint=f"add [forges.{repo.forge or 'github'}]")
    return table


def _token(table: ForgeTable, url: str, repo: Repository) -> Callable[[], str]:
    if table.token_file is not None:
        file = table.token_file
        return lambda: read_secret(file)
    if not url or table.key_file is None or not table.app_id or not table.installation:
        raise ServiceError("no token for the forge", hint="token_file, or for GitHub app_id, installation and key_file")
    name = repo.forge_name.partition("/")[2]
    return AppTokens(url, app=table.app_id, installation=table.installation, key=read_secret(table.key_file), repositories=(name,))


@dataclass(kw_only=True)
class Forging:
    """The forges of all repositories; adapters are made once and shared by threads. It is the ``Publisher`` of the steps."""

    settings: Settings
    store: Store
    make: Make
    _made: dict[str, Forge] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def forge(self, repo: Repository) -> Forge:
        """The adapter of a repository.

        Raises:
            ServiceError: the settings of its forge are incomplete.
        """
        with self._lock:
            if repo.name not in self._made:
                self._made[repo.name] = self.make(repo)
            return self._made[repo.name]

    # --- publishing ---------------------------------------------------------------------------------

    def begin(self, repo: Repository, row: ScoreRow) -> None:
        """Show that a head is being judged, if a forge asked for it."""
        subject = self._subject(row) if repo.forge else None
        if subject is not None:
            self.forge(repo).begin(subject)

    def finish(self, repo: Repository, row: ScoreRow, decision: Decision) -> str:
        """Show a decision where a forge asked for it; in a few words, what was shown."""
        subject = self._subject(row) if repo.forge else None
        review = reading.evidence(self.store, row.n, REVIEW)
        evidence = None if review is None else Evidence.of(msgspec.json.decode(review))
        return self.show(repo, subject, decision, evidence) if subject is not None else ""

    def show(self, repo: Repository, subject: Subject, decision: Decision, evidence: Evidence | None = None) -> str:
        """Show a decision about a change, unless the approvals in ``evidence`` are gone; in a few words, what was shown."""
        forge = self.forge(repo)
        done = forge.finish(subject, decision, evidence=evidence)
        if done.stale:
            return f"not shown on {subject.name}: {done.stale}"
        if _table(self.settings, repo).comment:
            forge.comment(subject, decision)
        return f"shown on {subject.name}: {', '.join(done.wrote) or 'it stood there'}"

    def _subject(self, row: ScoreRow) -> Subject | None:
        content = reading.evidence(self.store, row.n, SUBJECT)
        return None if content is None else msgspec.json.decode(content, type=Subject)

    # --- looking ------------------------------------------------------------------------------------

    def look(self, taking: Taking, mirrors: Mirrors, repo: Repository, *, number: int | None, queued: Subject | None, source: str) -> str:
        """Look at one change and have it judged as it stands now; the id of its score, "" where there is nothing to judge.

        Raises:
            ForgeError: the forge does not answer.
            TrivetError: the objects cannot be fetched.
        """
        forge = self.forge(repo)
        subject = queued if queued is not None else forge.subject(number) if number is not None else None
        if subject is None or not subject.is_open or subject.base_ref not in repo.branches:
            return ""
        evidence = self._evidence(forge, mirrors, repo, subject)
        row, made = ask_for(
            taking,
            repo,
            base=subject.base,
            head=subject.head,
            ref=ref_of(subject),
            source="merge-queue" if queued is not None else source,
            asked_by=f"{repo.forge} {subject.name}",
            review=msgspec.json.encode(evidence.document(), order="deterministic"),
            subject=msgspec.json.encode(subject),
        )
        if not made and row.merge is not None:
            self._again(repo, subject, row, evidence)
        return row.id

    def _evidence(self, forge: Forge, mirrors: Mirrors, repo: Repository, subject: Subject) -> Evidence:
        """Authorship and approvals of exactly this head, with the members of the teams that base's owners name."""
        brought = mirrors.bring(repo, subject.base, subject.head)
        with open_repository(brought.path) as repository:
            teams = named_teams(repository, brought.base)
            pulled = queued_number(subject) if subject.number is None else None
            if subject.number is not None or pulled is None:
                return forge.complete(subject, forge.approvals(subject), teams)
            pull = forge.subject(pulled)
            mirrors.bring(repo, subject.base, pull.head)
            return carried(repository, subject, pull, forge.complete(pull, forge.approvals(pull), teams))

    def _again(self, repo: Repository, subject: Subject, row: ScoreRow, evidence: Evidence) -> None:
        """Show what stands already: the same change was judged before, perhaps for somebody else."""
        from trivet.report.document import decision_of  # noqa: PLC0415 - beside its use

        content = reading.evidence(self.store, row.n, "decision.json")
        if content is None:
            raise ForgeError("the decision is older than its evidence is kept", where=row.id)
        self.show(repo, subject, decision_of(msgspec.json.decode(content, type=dict[str, object])), evidence)

    def close(self, taking: Taking, repo: Repository, ref: str) -> None:
        """A change is gone: nobody wants its scores any more."""
        for row in reading.queue(taking.store, (repo.name,)):
            if row.ref == ref and row.merge is None:
                cancel(taking, row, f"{ref} is gone")

    def unsettled(self, repo: Repository) -> tuple[Subject, ...]:
        """The open changes for which no decision stands that rests on what the forge says now; what a poll has to look at.

        Approvals decide about oracle changes alone; a patch that was judged at this head and base is settled.
        """
        found = []
        for subject in self.forge(repo).open_changes():
            if subject.base_ref not in repo.branches:
                continue
            rows = reading.scores(self.store, (repo.name,), ref=ref_of(subject), limit=1).rows
            last = rows[0] if rows else None
            same = last is not None and (last.head, last.base) == (subject.head, subject.base)
            if last is None or not same or not (last.open or (last.state == "done" and last.kind == "patch" and last.cause != "infra")):
                found.append(subject)
        return tuple(found)


def ref_of(subject: Subject) -> str:
    """The name under which newer heads of a change supersede older ones."""
    return f"pull/{subject.number}" if subject.number is not None else f"queue/{subject.queue_ref}"


def wanted(event: Event) -> bool:
    """Whether a delivery is about something to look at."""
    return (event.kind in ("change", "closed") and event.number is not None) or (
        event.kind in ("queue", "queue-gone") and event.subject is not None
    )
