"""GitLab: one project through its REST API (v4), on plain httpx; why not python-gitlab stands in the decision record of the forges.

A verdict is a commit status (and, where there is one, the answer to an external status check). Rights of the token: scope ``api`` with the
role Developer in the project; it must be able to read the members of groups that CODEOWNERS names.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from trivet.errors import ForgeError, UsageError
from trivet.forge import checks
from trivet.forge.standing import judged_head, moved_on, regretted
from trivet.forge.wire import Patience, RefusedError, UnsureError, Wire
from trivet.forge.words import ADVISORY, DONE, Check, Evidence, Published, State, Subject
from trivet.model import Decision

_STATES: dict[State, str] = {
    "pending": "pending", "running": "running", "success": "success", "failure": "failed", "not-run": "canceled", "neutral": "skipped",
}  # fmt: skip
_ROLES = {"developer": 30, "maintainer": 40, "owner": 50}
_TRIES = 4
_DESCRIPTION_LIMIT = 250
APPROVED = "approved this merge request"


class GitLab:
    """One project on GitLab; see `words.Forge`.

    Args:
        url: the address of the API, as ``CI_API_V4_URL`` gives it.
        project: its number, or its path with namespace.
        token: gives the token, asked before each request.
        status_check: the number of an external status check that is to be answered as well, None for none.
        details: an address that people can open for more, "" for none.
        wire: arguments of `Wire` that tests replace.
    """

    def __init__(
        self,
        url: str,
        project: str,
        *,
        token: Callable[[], str],
        status_check: int | None = None,
        details: str = "",
        patience: Patience | None = None,
        **wire: Any,
    ) -> None:
        if not project.strip() or any(part in ("", ".", "..") for part in project.split("/")):
            raise UsageError(f"a project on GitLab is a number or GROUP/NAME, not {project!r}")
        self.repository = project
        self._root = f"/projects/{quote(project, safe='')}"
        self._status_check, self._details, self._login = status_check, details, ""
        self._lock = threading.Lock()
        self.wire = Wire(url, headers={"accept": "application/json"}, token=lambda: {"private-token": token()}, patience=patience, **wire)

    # --- reading ---

    def subject(self, number: int) -> Subject:
        """See `words.Forge`."""
        return merge_request_subject(self.wire.get(f"{self._root}/merge_requests/{int(number)}"))

    def current(self, subject: Subject) -> Subject | None:
        """See `words.Forge`."""
        if subject.number is None:
            return None
        try:
            return self.subject(subject.number)
        except RefusedError as error:
            if error.status == 404:  # noqa: PLR2004 - not found
                return None
            raise

    def open_changes(self) -> tuple[Subject, ...]:
        """See `words.Forge`; rows of a list lack their base, which `subject` gives."""
        rows = self.wire.rows(f"{self._root}/merge_requests", state="opened", order_by="updated_at")
        return tuple(merge_request_subject(row, listed=True) for row in rows)

    def approvals(self, subject: Subject) -> Evidence:
        """See `words.Forge`; an approval is (login, time of approval) here, since GitLab does not tell its commit."""
        if subject.number is None:
            return Evidence(author=subject.author or "nobody", labels=subject.labels)
        data = self.wire.get(f"{self._root}/merge_requests/{subject.number}/approvals")
        rows = data.get("approved_by") if isinstance(data, dict) else None
        if not isinstance(rows, list):
            raise ForgeError("the approvals of the merge request cannot be read", where=f"!{subject.number}")
        found = []
        for row in rows:
            user = row.get("user") if isinstance(row, dict) else None
            if isinstance(user, dict) and user.get("username"):
                found.append((str(user["username"]), str(row.get("approved_at") or "")))
        return Evidence(author=subject.author, approvals=tuple(sorted(found)), labels=subject.labels)

    def complete(self, subject: Subject, evidence: Evidence, teams: tuple[str, ...], *, fresh: bool = True) -> Evidence:  # noqa: ARG002
        """See `words.Forge`. An approval counts for the head when it was given after that head was pushed; otherwise it counts for nothing.

        ``teams``: paths of groups (``group/sub``) and roles (``@maintainers``).
        """
        approvals: tuple[tuple[str, str], ...] = ()
        if evidence.approvals and subject.number is not None:
            pushed = self._pushed(subject)
            times = dict(evidence.approvals)
            if not all(times.values()):
                times = {login: at or told for login, at in times.items() for told in [self._said(subject.number).get(login, "")]}
            approvals = tuple((login, subject.head) for login, at in times.items() if pushed and at and _time(at) > _time(pushed))
        members = tuple((team, self._members(team)) for team in dict.fromkeys(teams))
        return replace(evidence, approvals=approvals, teams=members)

    def settings(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The project's settings and its protected branches (2 calls)."""
        project = self.wire.get(self._root)
        if not isinstance(project, dict):
            raise ForgeError("the project's settings cannot be read", where=self.repository)
        return project, self.wire.rows(f"{self._root}/protected_branches")

    def _pushed(self, subject: Subject) -> str:
        """When the head became the head, "" where that cannot be told."""
        rows = self.wire.rows(f"{self._root}/merge_requests/{subject.number}/versions")
        newest = max(rows, key=lambda row: int(row.get("id", 0)), default=None)
        return str(newest.get("created_at") or "") if newest and newest.get("head_commit_sha") == subject.head else ""

    def _said(self, number: int) -> dict[str, str]:
        """When each person's newest word about approval was said, as the forge itself noted it."""
        found: dict[str, str] = {}
        for row in self.wire.rows(f"{self._root}/merge_requests/{number}/notes", sort="asc", order_by="created_at"):
            author = row.get("author")
            if row.get("system") is True and isinstance(author, dict) and "approved this merge request" in str(row.get("body")):
                found[str(author.get("username"))] = str(row.get("created_at") or "") if row.get("body") == APPROVED else ""
        return found

    def _members(self, team: str) -> tuple[str, ...]:
        role = team.removeprefix("@").removesuffix("s").lower() if team.startswith("@") else ""
        place = f"{self._root}/members/all" if role in _ROLES else f"/groups/{quote(team.removeprefix('@'), safe='')}/members/all"
        try:
            rows = self.wire.rows(place)
        except RefusedError as error:
            if error.status not in (403, 404):
                raise
            rows = []  # who cannot be seen to be an owner is none
        good = [row for row in rows if row.get("state") == "active" and (not role or row.get("access_level") == _ROLES.get(role))]
        return tuple(sorted({str(row["username"]) for row in good if row.get("username")}))

    # --- writing ---

    def begin(self, subject: Subject) -> Published:
        """See `words.Forge`; the join comes first, so that a green of before ends at once."""
        wrote = [*self._show(subject.head, checks.pending()[::-1])]
        self._answer(subject, "pending")
        return Published(wrote=tuple(wrote))

    def finish(self, subject: Subject, decision: Decision, *, evidence: Evidence | None = None) -> Published:
        """See `words.Forge`. GitLab knows no neutral status, so the advisory lane stands in the comment alone."""
        rows = tuple(row for row in checks.judged(decision) if row.name != ADVISORY)
        head = judged_head(decision)
        if head != subject.head:
            return Published(stale=f"the decision is about {head[:12] or 'no commit'}, not about {subject.head[:12]}")
        known = self._statuses(head)
        if all(_is_shown(row, known.get(row.name)) for row in rows):
            return Published()
        if not decision.merge:
            wrote = [*self._show(head, (rows[-1], *rows[:-1]), known)]
            self._answer(subject, "failed")
            return Published(wrote=tuple(wrote))
        wrote = [*self._show(head, rows[:-1], known)]
        problem = self._problem(subject) or regretted(self, subject, decision, evidence)
        if problem:
            wrote += self._show(head, [checks.refused(problem)], known)
            self._answer(subject, "failed")
            return Published(wrote=tuple(wrote), stale=problem)
        wrote += self._show(head, rows[-1:], known)
        self._answer(subject, "passed")
        return Published(wrote=tuple(wrote))

    def comment(self, subject: Subject, decision: Decision, *, always: bool = False) -> Published:
        """See `words.Forge`. A change that may merge gets its first comment only where ``always`` says so."""
        if subject.number is None:
            return Published()
        body = checks.comment_body(decision)
        place = f"{self._root}/merge_requests/{subject.number}/notes"
        for _ in range(_TRIES):
            mine = self._notes(place)
            try:
                return self._write_note(place, body, mine, first=always or not decision.merge)
            except UnsureError:
                continue
        raise ForgeError("the comment could not be written", where=f"!{subject.number}", hint="run it again later")

    def _write_note(self, place: str, body: str, mine: Sequence[Mapping[str, Any]], *, first: bool) -> Published:
        if not mine:
            if not first:
                return Published()
            self.wire.send("POST", place, {"body": body})
            return Published(wrote=("comment",))
        wrote: list[str] = []
        if str(mine[0].get("body", "")).strip() != body.strip():
            self.wire.send("PUT", f"{place}/{int(mine[0]['id'])}", {"body": body})
            wrote.append("comment")
        for extra in mine[1:]:
            self.wire.send("DELETE", f"{place}/{int(extra['id'])}", {})
            wrote.append("comment removed")
        return Published(wrote=tuple(wrote))

    def _notes(self, place: str) -> list[dict[str, Any]]:
        login = self.login()
        rows = self.wire.rows(place, sort="asc", order_by="created_at")
        mine = [row for row in rows if not row.get("system") and str(row.get("body") or "").lstrip().startswith(checks.MARKER)]
        return sorted((row for row in mine if (row.get("author") or {}).get("username") == login), key=lambda row: int(row["id"]))

    def login(self) -> str:
        """Who the token speaks as."""
        with self._lock:
            if not self._login:
                data = self.wire.get("/user")
                self._login = str(data.get("username", "")) if isinstance(data, dict) else ""
            return self._login

    # --- statuses ---

    def _problem(self, subject: Subject) -> str:
        """Why a success would be wrong now, "" if it would be right. Asked right before the last write."""
        moved = moved_on(subject, self.current(subject))
        if moved:
            return moved
        # A status belongs to a commit: the same head may be offered to a branch with another policy.
        for row in self.wire.rows(f"{self._root}/repository/commits/{quote(subject.head)}/merge_requests"):
            same = row.get("sha") == subject.head and row.get("state") == "opened" and row.get("iid") != subject.number
            if same and row.get("target_branch") != subject.base_ref:
                where = f"{row.get('target_branch')} as !{row.get('iid')}"
                return f"the same head is offered to {where}; a status cannot tell them apart: push a commit to one"
        return ""

    def _show(self, head: str, rows: Sequence[Check], known: Mapping[str, dict[str, Any]] | None = None) -> Iterator[str]:
        statuses = dict(self._statuses(head) if known is None else known)
        for row in rows:
            for attempt in range(_TRIES):
                if _is_shown(row, statuses.get(row.name)):
                    break
                body: dict[str, object] = {"state": _STATES[row.state], "name": row.name, "description": _description(row)}
                if self._details:
                    body["target_url"] = self._details
                try:
                    self.wire.send("POST", f"{self._root}/statuses/{quote(head)}", body)
                except (UnsureError, RefusedError) as error:
                    # A status that is in this state already is refused with 400: look, and believe what stands there.
                    if attempt == _TRIES - 1 or (isinstance(error, RefusedError) and error.status not in (400, 409)):
                        raise
                    statuses = self._statuses(head)
                    continue
                yield row.name
                break

    def _statuses(self, head: str) -> dict[str, dict[str, Any]]:
        """The newest status of each name at a commit."""
        found: dict[str, dict[str, Any]] = {}
        for row in self.wire.rows(f"{self._root}/repository/commits/{quote(head)}/statuses"):
            name = str(row.get("name", ""))
            if int(row["id"]) > int(found.get(name, {}).get("id", -1)):
                found[name] = row
        return found

    def _answer(self, subject: Subject, word: str) -> None:
        """Answer the external status check, where there is one; it fails by itself after two minutes of silence."""
        if self._status_check is None or subject.number is None:
            return
        body = {"sha": subject.head, "external_status_check_id": self._status_check, "status": word}
        place = f"{self._root}/merge_requests/{subject.number}/status_check_responses"
        try:
            self.wire.send("POST", place, body)
        except UnsureError:
            self.wire.send("POST", place, body)  # answers are by merge request and commit: a second one changes nothing


def merge_request_subject(row: Any, *, listed: bool = False) -> Subject:
    """A merge request as the API gives it.

    Raises:
        ForgeError: a part is missing; right after a push GitLab may not know the diff yet.
    """
    try:
        refs = row.get("diff_refs") or {}
        base = refs.get("start_sha") or ""
        if not base and not listed:
            raise ForgeError("GitLab does not know the diff of the merge request yet", where=f"!{row.get('iid')}", hint="ask again later")
        return Subject(
            number=int(row["iid"]),
            head=str(row["sha"]),
            base=str(base),
            base_ref=str(row["target_branch"]),
            author=str((row.get("author") or {}).get("username") or "ghost"),
            is_open=row.get("state") in ("opened", "locked"),
            labels=tuple(str(label) for label in row.get("labels") or () if isinstance(label, str)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ForgeError(f"a merge request without its {error}", hint="is the address that of the API?") from error


def _description(row: Check) -> str:
    return f"{row.title[: _DESCRIPTION_LIMIT - 24]} (trivet {row.digest[:12]})"


def _is_shown(row: Check, status: Mapping[str, Any] | None) -> bool:
    if status is None or status.get("status") != _STATES[row.state]:
        return False
    return row.state not in DONE or status.get("description") == _description(row)


def _time(text: str) -> dt.datetime:
    """A time of GitLab, with its zone.

    Raises:
        ForgeError: it is none.
    """
    try:
        found = dt.datetime.fromisoformat(text)
    except ValueError as error:
        raise ForgeError(f"not a time: {text[:60]!r}") from error
    return found if found.tzinfo is not None else found.replace(tzinfo=dt.UTC)
