"""GitHub as far as we use it, in memory, each request and answer held against what GitHub publishes about its API.

``faults`` are taken one by one, before (or, for ``lost``, after) a request is done. ``green`` records every moment at which the checks of a
commit would let it merge, so that a transient green is seen.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import httpx
import jsonschema

SHAPES = json.loads((Path(__file__).parent / "github_shapes.json").read_text("utf-8"))["calls"]
BODIES = {name: jsonschema.Draft202012Validator(shape["body"] or {}) for name, shape in SHAPES.items()}
ANSWERS = {
    (name, int(status)): jsonschema.Draft202012Validator(answer or {}) for name, shape in SHAPES.items() for status, answer in shape["answers"].items()
}
APP = {"id": 7, "slug": "trivet-app"}
LOGIN = "trivet-app[bot]"
SECRET = "hook-secret"
TOKEN = "t0p-s3cret-token"
REPO = "/repos/acme/rates"
DATE = "Tue, 22 Sep 2026 12:00:00 GMT"
NOW = 1_790_078_400
BUSY = {"429": (429, {"retry-after": "2"}), "503": (503, {}), "403": (403, {}), "422": (422, {}), "502": (502, {})}
BUSY["limit"] = (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(NOW + 30), "x-ratelimit-limit": "5000"})
BUSY["secondary"] = (403, {"retry-after": "5"})


def oid(text: str) -> str:
    """The commit id of a name; a commit id is its own name."""
    if re.fullmatch(r"[0-9a-f]{40}", text):
        return text
    return hashlib.sha1(text.encode()).hexdigest()


class FakeGitHub:
    """One repository, ``acme/rates``; ``handler`` is what `httpx.MockTransport` takes."""

    def __init__(self) -> None:
        self.pulls: dict[int, dict] = {}
        self.reviews: dict[int, list[dict]] = {}
        self.comments: list[dict] = []
        self.runs: list[dict] = []
        self.refs: dict[str, str] = {}
        self.tips: dict[str, str] = {}
        self.teams: dict[str, list[str]] = {}
        self.rulesets: list[dict] = []
        self.rules: list[dict] = []
        self.faults: deque[str] = deque()
        self.calls: list[str] = []
        self.green: list[str] = []
        self.before: Callable[[str, str], None] = lambda _method, _path: None
        self.deliveries: list[tuple[dict[str, str], bytes]] = []
        self._id = 100

    # --- what people and git do ---

    def open(self, number: int, *, head: str, author: str = "agent", base_ref: str = "main") -> None:
        head_ref = f"change-{number}"
        self.pulls[number] = {
            "id": self._next(), "number": number, "state": "open", "draft": False, "title": "a change", "body": None, "labels": [],
            "user": self._user(author), "head": {"sha": oid(head), "ref": head_ref}, "base": {"sha": oid(self.tips.get(base_ref, base_ref)), "ref": base_ref},
        }  # fmt: skip
        self.reviews.setdefault(number, [])
        self._deliver("pull_request", "opened", number)

    def push(self, number: int, head: str) -> None:
        self.pulls[number]["head"]["sha"] = oid(head)
        self._deliver("pull_request", "synchronize", number)

    def retarget(self, number: int, base_ref: str) -> None:
        self.pulls[number]["base"] = {"sha": oid(base_ref), "ref": base_ref}
        self._deliver("pull_request", "edited", number)

    def review(self, number: int, login: str, state: str = "APPROVED", head: str | None = None) -> None:
        commit = oid(head) if head else self.pulls[number]["head"]["sha"]
        self.reviews[number].append({"id": self._next(), "user": self._user(login), "state": state, "commit_id": commit, "body": ""})
        self._deliver("pull_request_review", "submitted", number)

    def close(self, number: int) -> None:
        self.pulls[number]["state"] = "closed"
        self._deliver("pull_request", "closed", number)

    def queue(self, number: int, head: str) -> None:
        base = oid(self.tips.get("main", "main"))
        ref = f"gh-readonly-queue/main/pr-{number}-{base}"
        self.refs[ref] = oid(head)
        group = {"head_sha": oid(head), "head_ref": f"refs/heads/{ref}", "base_sha": base, "base_ref": "refs/heads/main"}
        self._deliver("merge_group", "checks_requested", None, {"merge_group": group})

    def say(self, number: int, login: str, body: str) -> None:
        self.comments.append({"id": self._next(), "issue": number, "user": self._user(login), "body": body})

    # --- what is seen ---

    def latest(self, head: str, app: int = APP["id"]) -> dict[str, dict]:
        found: dict[str, dict] = {}
        for run in self.runs:
            if run["head_sha"] == oid(head) and run["app"]["id"] == app:
                found[run["name"]] = run
        return found

    def shown(self, head: str) -> dict[str, str]:
        return {name: run["conclusion"] or run["status"] for name, run in self.latest(head).items()}

    # --- the API ---

    def handler(self, request: httpx.Request) -> httpx.Response:
        parts = urlsplit(str(request.url))
        path = parts.path.removeprefix("/api/v3")
        self.calls.append(f"{request.method} {path}")
        assert request.headers["authorization"] == f"Bearer {TOKEN}"
        assert request.headers["x-github-api-version"] == "2022-11-28"
        fault = self.faults.popleft() if self.faults else ""
        if fault in BUSY:
            status, headers = BUSY[fault]
            return httpx.Response(status, headers={"date": DATE, **headers}, json={"message": f"fault {fault}"})
        if fault == "unreachable":
            raise httpx.ConnectError("refused", request=request)
        self.before(request.method, path)
        name, values = self._route(request.method, path)
        query = {key: rows[0] for key, rows in parse_qs(parts.query).items()}
        shape = SHAPES[name]
        assert set(query) <= set(shape["query"]), (name, query)
        body = json.loads(request.content) if request.content else {}
        if shape["body"] is not None:
            BODIES[name].validate(body)
        status, data, headers = self._answer(name, values, query, body)
        if status < 300:
            ANSWERS[name, status].validate(data)
        self._watch()
        if fault == "lost":
            raise httpx.ReadTimeout("no answer", request=request)
        tag = '"' + hashlib.sha256(json.dumps(data).encode()).hexdigest() + '"'
        if request.method == "GET" and request.headers.get("if-none-match") == tag:
            return httpx.Response(304, headers={"date": DATE, "etag": tag})
        return httpx.Response(status, headers={"date": DATE, "etag": tag, **headers}, json=data)

    def _route(self, method: str, path: str) -> tuple[str, dict[str, str]]:
        for name in SHAPES:
            verb, template = name.split(" ", 1)
            pattern = re.sub(r"\\\{(\w+)\\\}", lambda found: f"(?P<{found[1]}>{'.+' if found[1] == 'ref' else '[^/]+'})", re.escape(template))
            found = re.fullmatch(pattern, path)
            if verb == method and found:
                return name, {key: unquote(value) for key, value in found.groupdict().items()}
        raise AssertionError(f"not a call of the published API: {method} {path}")

    def _answer(self, name: str, values: dict[str, str], query: dict[str, str], body: dict) -> tuple[int, object, dict[str, str]]:  # noqa: PLR0911 - a table
        short = name.replace("/repos/{owner}/{repo}", "")
        missing = (404, {"message": "Not Found"}, {})
        if short == "GET ":
            return 200, {"id": 1, "full_name": "acme/rates", "default_branch": "main"}, {}
        if short == "GET /user":
            return 403, {"message": "Resource not accessible by integration"}, {}
        if short == "GET /orgs/{org}/teams/{team_slug}/members":
            team = f"{values['org']}/{values['team_slug']}"
            return (200, [self._user(login) for login in self.teams[team]], {}) if team in self.teams else missing
        if short == "GET /pulls":
            return self._page([row for row in self.pulls.values() if row["state"] == query["state"]], query, name)
        if short == "GET /pulls/{pull_number}":
            row = self.pulls.get(int(values["pull_number"]))
            return (200, row, {}) if row else missing
        if short == "GET /pulls/{pull_number}/reviews":
            return self._page(self.reviews[int(values["pull_number"])], query, name, values)
        if short == "GET /commits/{commit_sha}/pulls":
            return 200, [row for row in self.pulls.values() if row["head"]["sha"] == values["commit_sha"]], {}
        if short == "GET /git/ref/{ref}":
            sha = self.refs.get(values["ref"].removeprefix("heads/"))
            return (200, {"ref": f"refs/{values['ref']}", "node_id": "x", "url": "", "object": {"type": "commit", "sha": sha, "url": ""}}, {}) if sha else missing
        if "comments" in short:
            return self._comment(short, values, query, body)
        if "check-runs" in short:
            return self._check(short, values, query, body)
        if short == "GET /rules/branches/{branch}":
            return 200, self.rules, {}
        if short == "GET /rulesets":
            return 200, [{key: row[key] for key in ("id", "name", "enforcement", "target")} for row in self.rulesets], {}
        if short == "GET /rulesets/{ruleset_id}":
            return 200, next(row for row in self.rulesets if row["id"] == int(values["ruleset_id"])), {}
        raise AssertionError(f"the fake has no {name}")

    def _comment(self, short: str, values: dict[str, str], query: dict[str, str], body: dict) -> tuple[int, object, dict[str, str]]:
        if short.startswith("GET"):
            rows = [self._public(row) for row in self.comments if row["issue"] == int(values["issue_number"])]
            return self._page(rows, query, "comments", values)
        if short.startswith("POST"):
            self.say(int(values["issue_number"]), LOGIN, body["body"])
            return 201, self._public(self.comments[-1]), {}
        row = next((row for row in self.comments if row["id"] == int(values["comment_id"])), None)
        if row is None:
            return 404, {"message": "Not Found"}, {}
        if short.startswith("DELETE"):
            self.comments.remove(row)
            return 204, None, {}
        row["body"] = body["body"]
        return 200, self._public(row), {}

    def _check(self, short: str, values: dict[str, str], query: dict[str, str], body: dict) -> tuple[int, object, dict[str, str]]:
        if short.startswith("GET"):
            found: dict[tuple[str, int], dict] = {}
            for run in self.runs:
                if run["head_sha"] == values["ref"] and query.get("app_id", str(run["app"]["id"])) == str(run["app"]["id"]):
                    found[run["name"], run["app"]["id"]] = run
            rows = [{**run, "output": {"title": run["output"]["title"], "summary": run["output"]["summary"]}} for run in found.values()]
            return 200, {"total_count": len(rows), "check_runs": rows}, {}
        if short.startswith("POST"):
            run = {"id": self._next(), "conclusion": None, "status": "queued", "external_id": "", "app": APP, **body}
            self.runs.append(run)
            return 201, run, {}
        run = next(run for run in self.runs if run["id"] == int(values["check_run_id"]))
        if run["app"] != APP:
            return 403, {"message": "Invalid app_id"}, {}
        run.update(body)
        return 200, run, {}

    def _page(self, rows: list[dict], query: dict[str, str], name: str, values: dict[str, str] | None = None) -> tuple[int, object, dict[str, str]]:
        size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
        part = rows[(page - 1) * size : page * size]
        headers = {}
        if len(rows) > page * size:
            path = {"comments": "/issues/{issue_number}/comments"}.get(name, name.rsplit("{repo}", maxsplit=1)[-1])
            for key, value in (values or {}).items():
                path = path.replace("{" + key + "}", value)
            more = "&".join(f"{key}={value}" for key, value in {**query, "page": page + 1}.items())
            headers["link"] = f'<https://git.example.org/api/v3{REPO}{path}?{more}>; rel="next", <https://x/>; rel="last"'
        return 200, part, headers

    def _watch(self) -> None:
        heads = {run["head_sha"] for run in self.runs}
        for head in heads:
            join = [run for run in self.runs if run["head_sha"] == head and run["name"] == "trivet/join" and run["app"] == APP]
            if join and join[-1]["status"] == "completed" and join[-1]["conclusion"] in ("success", "neutral", "skipped"):
                self.green.append(head)

    # --- deliveries ---

    def take(self) -> Iterator[tuple[dict[str, str], bytes]]:
        while self.deliveries:
            yield self.deliveries.pop(0)

    def _deliver(self, name: str, action: str, number: int | None, more: dict | None = None) -> None:
        data = {"action": action, "repository": {"id": 1, "full_name": "acme/rates"}, "installation": {"id": 3}, **(more or {})}
        if number is not None:
            data |= {"number": number, "pull_request": json.loads(json.dumps(self.pulls[number]))}
        self.deliveries.append(signed(name, data, delivery=f"d-{self._next()}"))

    def _next(self) -> int:
        self._id += 1
        return self._id

    @staticmethod
    def _user(login: str) -> dict:
        return {"id": int(oid(login)[:6], 16), "login": login, "type": "Bot" if login.endswith("[bot]") else "User", "node_id": "x"}

    @staticmethod
    def _public(row: dict) -> dict:
        return {key: value for key, value in row.items() if key != "issue"}


def signed(name: str, data: dict, *, delivery: str, secret: str = SECRET) -> tuple[dict[str, str], bytes]:
    body = json.dumps(data).encode()
    signature = "sha256=" + hmac.new(secret.encode(), body, "sha256").hexdigest()
    headers = {"X-GitHub-Event": name, "X-GitHub-Delivery": delivery, "X-Hub-Signature-256": signature, "Content-Type": "application/json"}
    return headers, body
