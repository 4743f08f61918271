"""GitHub: one repository through its REST API, with gidgethub's headers.

Rights of the token: contents and metadata read, pull requests write (the comment), checks write; organisation members read where
CODEOWNERS names teams. Checks can only be written by an App's token, or by the one that GitHub Actions gives to a job.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from trivet.errors import ForgeError, UsageError
from trivet.forge import checks
from trivet.forge.standing import COMMIT, commit_id, judged_head, moved_on, pull_subject, regretted
from trivet.forge.wire import Patience, RefusedError, UnsureError, Wire
from trivet.forge.words import DONE, JOIN, Check, Evidence, Published, State, Subject
from trivet.model import Decision

API_VERSION = "2022-11-28"
TEAMS_KEPT_S = 600.0
"""Members of a team are asked for again after this long, and whenever a caller says so."""
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
_CONCLUSIONS: dict[State, str] = {"success": "success", "failure": "failure", "not-run": "cancelled", "neutral": "neutral"}
_LEVELS = {"error": "failure", "warning": "warning", "note": "notice"}
_OURS = "trivet:"
_TRIES = 4


class GitHub:
    """One repository on GitHub; see `words.Forge`.

    Args:
        url: the address of the API, as ``GITHUB_API_URL`` gives it.
        repository: ``owner/name``.
        token: gives the token, asked before each request.
        login: who the token speaks as (``my-app[bot]``); only comments of this login are ever changed. "" asks the API once.
        app: the number of the App, "" where it is not known; narrows which checks are looked at.
        details: an address that people can open for more, "" for none.
        wire: arguments of `Wire` that tests replace.
    """

    def __init__(
        self,
        url: str,
        repository: str,
        *,
        token: Callable[[], str],
        login: str = "",
        app: str = "",
        details: str = "",
        patience: Patience | None = None,
        clock: Callable[[], float] = time.monotonic,
        **wire: Any,
    ) -> None:
        if not _REPOSITORY.fullmatch(repository) or any(part in (".", "..") for part in repository.split("/")):
            raise UsageError(f"a repository on GitHub is OWNER/NAME, not {repository!r}")
        self.repository = repository
        self._login, self._app, self._details, self._clock = login, app, details, clock
        self._teams: dict[str, tuple[float, tuple[str, ...]]] = {}
        self._lock = threading.Lock()
        self.wire = Wire(url, headers=plain_headers(), token=lambda: {"authorization": f"Bearer {token()}"}, patience=patience, **wire)

    # --- reading ---

    def subject(self, number: int) -> Subject:
        """See `words.Forge`."""
        return pull_subject(_object(self.wire.get(self._at(f"/pulls/{int(number)}"))))

    def current(self, subject: Subject) -> Subject | None:
        """See `words.Forge`; an entry of the merge queue is its branch."""
        try:
            if subject.number is not None:
                return self.subject(subject.number)
            row = _object(self.wire.get(self._at(f"/git/ref/heads/{quote(subject.queue_ref)}")))
        except RefusedError as error:
            if error.status in (404, 410):
                return None
            raise
        target = row.get("object")
        head = str(target.get("sha", "")) if isinstance(target, dict) else ""
        return Subject(number=None, head=commit_id(head), base=subject.base, base_ref=subject.base_ref, queue_ref=subject.queue_ref)

    def open_changes(self) -> tuple[Subject, ...]:
        """See `words.Forge`."""
        return tuple(pull_subject(row) for row in self.wire.rows(self._at("/pulls"), state="open", sort="updated", direction="desc"))

    def approvals(self, subject: Subject) -> Evidence:
        """See `words.Forge`. Of each reviewer the last word counts; a dismissed review is none, a remark changes nothing."""
        if subject.number is None:
            return Evidence(author=subject.author or "nobody", labels=subject.labels)
        said: dict[str, tuple[str, str] | None] = {}
        for row in self.wire.rows(self._at(f"/pulls/{subject.number}/reviews")):
            user, state, commit = row.get("user"), row.get("state"), row.get("commit_id")
            if not isinstance(user, dict) or state in ("COMMENTED", "PENDING", None):
                continue
            login = str(user.get("login", ""))
            said[login] = (login, str(commit)) if state == "APPROVED" and isinstance(commit, str) else None
        approvals = tuple(word for word in said.values() if word is not None and word[0])
        return Evidence(author=subject.author, approvals=approvals, labels=subject.labels)

    def complete(self, subject: Subject, evidence: Evidence, teams: tuple[str, ...], *, fresh: bool = True) -> Evidence:  # noqa: ARG002
        """See `words.Forge`; teams are ``org/slug``. ``fresh`` asks again for what is kept."""
        names = [name for name in dict.fromkeys(team.removeprefix("@") for team in teams) if "/" in name]
        return replace(evidence, teams=tuple((name, self._members(name, fresh=fresh)) for name in names))

    def branch_rules(self, branch: str) -> list[dict[str, Any]]:
        """All rules that are in force for a branch, of the repository and its organisation."""
        return self.wire.rows(self._at(f"/rules/branches/{quote(branch, safe='')}"))

    def rulesets(self) -> list[dict[str, Any]]:
        """All rulesets with their content, as an export holds them (1 call each)."""
        rows = self.wire.rows(self._at("/rulesets"))
        return [_object(self.wire.get(self._at(f"/rulesets/{int(row['id'])}"))) for row in rows if isinstance(row.get("id"), int)]

    def default_branch(self) -> str:
        """The name of the default branch."""
        return str(_object(self.wire.get(self._at(""))).get("default_branch", ""))

    def file(self, path: str, ref: str) -> bytes | None:
        """The bytes of one file at a commit, None where there is none."""
        import base64  # noqa: PLC0415 - only here

        try:
            row = _object(self.wire.get(self._at(f"/contents/{quote(path)}"), ref=quote(ref, safe="")))
        except RefusedError as error:
            if error.status == 404:  # noqa: PLR2004 - not found
                return None
            raise
        return base64.b64decode(str(row.get("content", ""))) if row.get("encoding") == "base64" else None

    # --- writing ---

    def begin(self, subject: Subject) -> Published:
        """See `words.Forge`; the join comes first, so that a green of before ends at once."""
        return Published(wrote=tuple(self._show(commit_id(subject.head), checks.pending()[::-1])))

    def finish(self, subject: Subject, decision: Decision, *, evidence: Evidence | None = None) -> Published:
        """See `words.Forge`."""
        rows = checks.judged(decision)
        head = judged_head(decision)
        if head != subject.head:
            reason = f"the decision is about {head[:12] or 'no commit'}, not about {subject.head[:12]}"
            return self._withdraw(head, rows, reason) if COMMIT.fullmatch(head) else Published(stale=reason)
        known = self._runs(head)
        if all(_is_shown(row, known.get(row.name)) for row in rows):
            return Published()
        if not decision.merge:
            # Red first of all, so that a green of before ends as soon as it can.
            return Published(wrote=tuple(self._show(head, (rows[-1], *rows[:-1]), known)))
        wrote = [*self._show(head, rows[:-1], known)]
        problem = self._problem(subject) or regretted(self, subject, decision, evidence)
        if problem:
            return Published(wrote=(*wrote, *self._withdraw(head, rows, problem).wrote), stale=problem)
        return Published(wrote=(*wrote, *self._show(head, rows[-1:], known)))

    def comment(self, subject: Subject, decision: Decision, *, always: bool = False) -> Published:
        """See `words.Forge`. A change that may merge gets its first comment only where ``always`` says so."""
        if subject.number is None:
            return Published()
        body = checks.comment_body(decision)
        for _ in range(_TRIES):
            mine = self._comments(subject.number)
            try:
                return self._write_comment(subject.number, body, mine, first=always or not decision.merge)
            except UnsureError:
                continue
        raise ForgeError("the comment could not be written", where=f"{self.repository}#{subject.number}", hint="run it again later")

    def _write_comment(self, number: int, body: str, mine: list[dict[str, Any]], *, first: bool) -> Published:
        if not mine:
            if not first:
                return Published()
            self.wire.send("POST", self._at(f"/issues/{number}/comments"), {"body": body})
            return Published(wrote=("comment",))
        wrote: list[str] = []
        if _same_text(str(mine[0].get("body", "")), body) is False:
            self.wire.send("PATCH", self._at(f"/issues/comments/{int(mine[0]['id'])}"), {"body": body})
            wrote.append("comment")
        for extra in mine[1:]:  # two writers at once: the first one stays
            self.wire.send("DELETE", self._at(f"/issues/comments/{int(extra['id'])}"), {})
            wrote.append("comment removed")
        return Published(wrote=tuple(wrote))

    def _comments(self, number: int) -> list[dict[str, Any]]:
        found = []
        for row in self.wire.rows(self._at(f"/issues/{number}/comments")):
            user = row.get("user")
            marked = str(row.get("body") or "").lstrip().startswith(checks.MARKER)
            if marked and isinstance(user, dict) and user.get("login") == self.login():
                found.append(row)
        return sorted(found, key=lambda row: int(row["id"]))

    def login(self) -> str:
        """Who the token speaks as; an App's name has to be given, its token may not ask."""
        with self._lock:
            if not self._login:
                try:
                    self._login = str(_object(self.wire.get("/user")).get("login", ""))
                except RefusedError as error:
                    raise ForgeError(
                        "who this token speaks as is not known", where=error.where, hint="name it with --login, such as my-app[bot]"
                    ) from error
            return self._login

    # --- checks ---

    def _problem(self, subject: Subject) -> str:
        """Why a success would be wrong now, "" if it would be right. Asked right before the last write."""
        now = self.current(subject)
        moved = moved_on(subject, now)
        if moved or subject.number is None:
            return moved
        # A check belongs to a commit, not to a pull request: the same head may be offered to a branch with another policy.
        for row in self.wire.rows(self._at(f"/commits/{subject.head}/pulls")):
            other = pull_subject(row)
            if other.is_open and other.head == subject.head and other.number != subject.number and other.base_ref != subject.base_ref:
                where = f"{other.base_ref} as #{other.number}"
                return f"the same head is offered to {where}; a check cannot tell them apart: push a commit to one"
        return ""

    def _withdraw(self, head: str, rows: Sequence[Check], reason: str) -> Published:
        """Close what is pending at a head whose judgement is of no use, and end a green join there."""
        known = self._runs(head)
        left = [checks.outdated(row, reason) for row in rows if row.name in known and known[row.name].get("status") != "completed"]
        if known.get(JOIN, {}).get("conclusion") == "success":
            left.append(checks.refused(reason))
        return Published(wrote=tuple(self._show(head, left, known)), stale=reason)

    def _show(self, head: str, rows: Sequence[Check], known: Mapping[str, dict[str, Any]] | None = None) -> Iterator[str]:
        runs = dict(self._runs(head) if known is None else known)
        for row in rows:
            for attempt in range(_TRIES):
                if _is_shown(row, runs.get(row.name)):
                    break
                try:
                    self._write(head, row, runs.get(row.name))
                except UnsureError:
                    if attempt == _TRIES - 1:
                        raise
                    runs = self._runs(head)
                    continue
                yield row.name
                break

    def _write(self, head: str, row: Check, run: Mapping[str, Any] | None) -> None:
        body: dict[str, object] = {"name": row.name, "external_id": _OURS + row.digest, "output": _output(row)}
        if self._details:
            body["details_url"] = self._details
        body |= {"status": "completed", "conclusion": _CONCLUSIONS[row.state]} if row.state in DONE else {"status": "in_progress"}
        if run is not None and run.get("status") != "completed":
            try:
                self.wire.send("PATCH", self._at(f"/check-runs/{int(run['id'])}"), body)
            except RefusedError as error:
                if error.status not in (403, 404):
                    raise
            else:
                return
        # A finished run stays as history, a stranger's stays the stranger's: the newest of a name is the one that counts.
        self.wire.send("POST", self._at("/check-runs"), {**body, "head_sha": head})

    def _runs(self, head: str) -> dict[str, dict[str, Any]]:
        """Our newest run of each name at a commit."""
        query = {"filter": "latest"} | ({"app_id": self._app} if self._app else {})
        found: dict[str, dict[str, Any]] = {}
        for row in self.wire.rows(self._at(f"/commits/{commit_id(head)}/check-runs"), "check_runs", **query):
            name = str(row.get("name", ""))
            if str(row.get("external_id") or "").startswith(_OURS) and int(row["id"]) > int(found.get(name, {}).get("id", -1)):
                found[name] = row
        return found

    def _members(self, team: str, *, fresh: bool) -> tuple[str, ...]:
        with self._lock:
            kept = self._teams.get(team)
        if kept is not None and not fresh and self._clock() - kept[0] < TEAMS_KEPT_S:
            return kept[1]
        org, _, slug = team.partition("/")
        try:
            rows = self.wire.rows(f"/orgs/{quote(org, safe='')}/teams/{quote(slug, safe='')}/members")
        except RefusedError as error:
            if error.status not in (403, 404):
                raise
            rows = []  # who cannot be seen to be an owner is none
        members = tuple(sorted({str(row["login"]) for row in rows if row.get("login")}))
        with self._lock:
            self._teams[team] = (self._clock(), members)
        return members

    def _at(self, path: str) -> str:
        return f"/repos/{self.repository}{path}"


def plain_headers() -> dict[str, str]:
    """The headers of each request but the token.

    Raises:
        UsageError: gidgethub is not installed.
    """
    try:
        from gidgethub import sansio  # noqa: PLC0415 - only who talks to GitHub pays for it
    except ImportError:
        raise UsageError("talking to GitHub needs the extra `forge`", hint="pip install 'trivet[forge]'") from None
    made = sansio.create_headers("trivet", accept=sansio.accept_format())
    return {key: value for key, value in made.items() if key != "user-agent"} | {"x-github-api-version": API_VERSION}


def _output(row: Check) -> dict[str, object]:
    output: dict[str, object] = {"title": row.title[:250], "summary": row.summary or row.title}
    if row.notes:
        output["annotations"] = [
            {
                "path": note.path,
                "start_line": note.line,
                "end_line": note.line,
                "annotation_level": _LEVELS[note.level],
                "title": note.title,
                "message": note.text or note.title,
            }
            for note in row.notes
        ]
    return output


def _is_shown(row: Check, run: Mapping[str, Any] | None) -> bool:
    if run is None or run.get("external_id") != _OURS + row.digest:
        return False
    if row.state in DONE:
        return run.get("status") == "completed" and run.get("conclusion") == _CONCLUSIONS[row.state]
    return run.get("status") in ("queued", "in_progress")


def _same_text(shown: str, wanted: str) -> bool:
    return shown.replace("\r\n", "\n").strip() == wanted.strip()


def _object(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise ForgeError("the answer is no object", hint="is the address that of the API?")
    return data
