"""GitLab as far as we use it, in memory, after its documentation. ``green`` records every moment at which the join of a commit was a success."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable
from urllib.parse import parse_qs, unquote, urlsplit

import httpx

from fakes.github import oid

TOKEN = "glpat-s3cret"
LOGIN = "trivet-bot"
BUSY = {
    "429": (429, {"retry-after": "3"}),
    "limit": (429, {"ratelimit-remaining": "0", "ratelimit-reset": "1790078420"}),
    "503": (503, {}),
    "502": (502, {}),
}


class FakeGitLab:
    """One project, ``acme/rates``, number 5; ``handler`` is what `httpx.MockTransport` takes."""

    def __init__(self) -> None:
        self.merge_requests: dict[int, dict] = {}
        self.approved: dict[int, dict[str, str]] = {}
        self.versions: dict[int, list[dict]] = {}
        self.notes: dict[int, list[dict]] = {}
        self.statuses: list[dict] = []
        self.answers: list[tuple[str, str]] = []
        self.members: dict[str, list[dict]] = {}
        self.protected: list[dict] = []
        self.settings: dict = {"id": 5, "default_branch": "main", "only_allow_merge_if_pipeline_succeeds": True}
        self.with_times = True
        self.faults: deque[str] = deque()
        self.calls: list[str] = []
        self.green: list[str] = []
        self.before: Callable[[str, str], None] = lambda _method, _path: None
        self._id, self._now = 10, 0

    # --- what people and git do ---

    def open(self, iid: int, *, head: str, author: str = "agent", target: str = "main") -> None:
        self.merge_requests[iid] = {
            "id": 900 + iid, "iid": iid, "sha": oid(head), "target_branch": target, "state": "opened", "author": {"username": author},
            "labels": [], "diff_refs": {"base_sha": oid("fork"), "start_sha": oid(target), "head_sha": oid(head)},
        }  # fmt: skip
        self.approved.setdefault(iid, {})
        self.notes.setdefault(iid, [])
        self._version(iid)

    def push(self, iid: int, head: str) -> None:
        self.merge_requests[iid]["sha"] = oid(head)
        self._version(iid)

    def approve(self, iid: int, login: str) -> None:
        self.approved[iid][login] = self._time()
        self._note(iid, login, "approved this merge request", system=True)

    def unapprove(self, iid: int, login: str) -> None:
        self.approved[iid].pop(login)
        self._note(iid, login, "unapproved this merge request", system=True)

    def shown(self, head: str) -> dict[str, str]:
        return {row["name"]: row["status"] for row in self.statuses if row["sha"] == oid(head)}

    # --- the API ---

    def handler(self, request: httpx.Request) -> httpx.Response:
        parts = urlsplit(str(request.url))
        path = parts.path.removeprefix("/api/v4")
        self.calls.append(f"{request.method} {path}")
        assert request.headers["private-token"] == TOKEN
        fault = self.faults.popleft() if self.faults else ""
        if fault in BUSY:
            status, headers = BUSY[fault]
            return httpx.Response(status, headers={"date": "Tue, 22 Sep 2026 12:00:00 GMT", **headers}, json={"message": "busy"})
        self.before(request.method, path)
        query = {key: rows[0] for key, rows in parse_qs(parts.query).items()}
        body = json.loads(request.content) if request.content else {}
        status, data = self._answer(request.method, path, query, body)
        if fault == "lost":
            raise httpx.ReadTimeout("no answer", request=request)
        return httpx.Response(status, json=data)

    def _answer(self, method: str, path: str, query: dict[str, str], body: dict) -> tuple[int, object]:  # noqa: PLR0911 - a table
        if path == "/user":
            return 200, {"username": LOGIN}
        found = re.fullmatch(r"/groups/(.+)/members/all", path)
        if found:
            rows = self.members.get(unquote(found[1]))
            return (404, {"message": "404 Group Not Found"}) if rows is None else (200, rows)
        rest = re.fullmatch(r"/projects/(?:5|acme%2Frates|acme/rates)(/.*)?", path)
        assert rest, path
        place = rest[1] or ""
        if place == "":
            return 200, self.settings
        if place == "/protected_branches":
            return 200, self.protected
        if place == "/members/all":
            return 200, self.members.get("", [])
        if place == "/merge_requests":
            return 200, [{**row, "diff_refs": None} for row in self.merge_requests.values() if row["state"] == query["state"]]
        found = re.fullmatch(r"/merge_requests/(\d+)(/.*)?", place)
        if found:
            return self._merge_request(method, int(found[1]), found[2] or "", body)
        return self._commit(method, place, body)

    def _merge_request(self, method: str, iid: int, rest: str, body: dict) -> tuple[int, object]:  # noqa: PLR0911 - a table
        if iid not in self.merge_requests:
            return 404, {"message": "404 Not found"}
        if rest == "":
            return 200, self.merge_requests[iid]
        if rest == "/approvals":
            rows = [{"user": {"username": login}} | ({"approved_at": at} if self.with_times else {}) for login, at in self.approved[iid].items()]
            return 200, {"approved": True, "approved_by": rows}
        if rest == "/versions":
            return 200, self.versions[iid][::-1]
        if rest == "/status_check_responses":
            self.answers.append((body["sha"], body["status"]))
            return 201, {}
        found = re.fullmatch(r"/notes(?:/(\d+))?", rest)
        assert found, rest
        if method == "GET":
            return 200, self.notes[iid]
        if method == "POST":
            self._note(iid, LOGIN, body["body"])
            return 201, self.notes[iid][-1]
        row = next(row for row in self.notes[iid] if row["id"] == int(found[1]))
        if method == "DELETE":
            self.notes[iid].remove(row)
            return 204, None
        row["body"] = body["body"]
        return 200, row

    def _commit(self, method: str, place: str, body: dict) -> tuple[int, object]:
        found = re.fullmatch(r"/repository/commits/(\w+)/(statuses|merge_requests)", place)
        if found and found[2] == "merge_requests":
            return 200, [row for row in self.merge_requests.values() if row["sha"] == found[1]]
        if found:
            newest = {row["name"]: row for row in self.statuses if row["sha"] == found[1]}
            return 200, [*newest.values()]
        found = re.fullmatch(r"/statuses/(\w+)", place)
        assert found
        assert method == "POST"
        assert body["state"] in ("pending", "running", "success", "failed", "canceled", "skipped")
        assert len(body["description"]) <= 255
        now = next((row for row in reversed(self.statuses) if row["sha"] == found[1] and row["name"] == body["name"]), None)
        if now is not None and now["status"] == body["state"] and body["state"] in ("pending", "running"):
            return 400, {"message": f"Cannot transition status via :run from :{now['status']}"}
        row = {"id": self._next(), "sha": found[1], "name": body["name"], "status": body["state"], "description": body["description"]}
        self.statuses.append(row)
        if row["name"] == "trivet/join" and row["status"] in ("success", "skipped"):
            self.green.append(found[1])
        return 201, row

    def _version(self, iid: int) -> None:
        row = {"id": self._next(), "head_commit_sha": self.merge_requests[iid]["sha"], "created_at": self._time()}
        self.versions.setdefault(iid, []).append(row)

    def _note(self, iid: int, login: str, body: str, *, system: bool = False) -> None:
        self.notes[iid].append({"id": self._next(), "author": {"username": login}, "body": body, "system": system, "created_at": self._time()})

    def _next(self) -> int:
        self._id += 1
        return self._id

    def _time(self) -> str:
        self._now += 1
        return f"2026-09-22T12:{self._now // 60:02}:{self._now % 60:02}.000Z"
