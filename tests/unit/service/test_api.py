"""The API: who may do what on each route, and what each answers."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from litestar.testing import TestClient
from sqlalchemy import select

from service_seed import seed
from trivet.service import api, keyring, reading
from trivet.service import tables as t
from trivet.service.access import Access
from trivet.service.app import create_app
from trivet.service.auditing import Audit
from trivet.service.desk import Desk
from trivet.service.rows import ScoreRow
from trivet.service.settings import settings_of
from trivet.service.store import Store, end, score

NOW = 1_796_000_100.0
OPEN_ROUTES = {"/healthz", "/readyz", "/v1/hooks/{provider:str}"}
"""Routes that ask for no token; deliveries of forges carry a signature instead."""
FOR_ALL = ("/v1", "/v1/nothing", "/v1/openapi.json", "/v1/whoami", "/v1/repos")
"""Routes that answer anybody with a good token; what they say is about the caller alone."""
BASE, HEAD = "b" * 40, "c" * 40
SECRETS = {"alpha": "hook-secret-a", "beta": "hook-secret-b"}


class FakeJobs:
    """An engine that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple] = []

    def enqueue(self, score: ScoreRow, *, priority: int) -> None:
        self.told.append(("enqueue", score.id, priority))

    def cancel(self, identity: str) -> None:
        self.told.append(("cancel", identity))

    def look(self, key: str, repo: str, event) -> None:
        self.told.append(("look", key, repo, event.kind, event.number))

    def ready(self) -> bool:
        return True


class World:
    """An application over a seeded store, with tokens of each kind."""

    def __init__(self, store: Store, folder: Path, **server) -> None:
        seed(store, scores=60, now=NOW - 100)
        for name, secret in SECRETS.items():
            (folder / f"{name}.secret").write_text(secret)
            (folder / f"{name}.secret").chmod(0o600)
        repos = [
            {"name": name, "url": f"https://git.example/{name}", "feedback": level, "forge": "github", "forge_name": f"org/{name}", "repository_id": number, "webhook_secret_file": f"{name}.secret", "max_queued": 5}
            for name, level, number in (("alpha", "full", "11"), ("beta", "verdict", "22"))
        ]  # fmt: skip
        self.settings = settings_of({"schema": 1, "server": server, "repositories": repos, "forges": {"github": {}}}, folder)
        self.store = store
        self.jobs = FakeJobs()
        self.now = NOW
        clock = lambda: self.now  # noqa: E731
        access = Access(store=store, settings=self.settings, clock=clock)
        self.desk = Desk(settings=self.settings, store=store, clock=clock, access=access, audit=Audit(store, clock), jobs=self.jobs, draining=lambda: self.stopping)
        self.stopping = False
        self.app = create_app(self.desk, routes=api.routes())
        self.ids = {repo: next(row.id for row in reading.scores(store, (repo,)).rows if row.state == "done") for repo in ("alpha", "beta")}

    def token(self, scopes: str = "submit read", repos: str = "alpha", *, seconds: float = 1000) -> str:
        return keyring.new_token(self.store, name="t", scopes=scopes.split(), repos=repos.split(), now=self.now, expires_at=self.now + seconds)[1]

    def revoked(self) -> str:
        row, secret = keyring.new_token(self.store, name="t", scopes=["admin"], repos=["*"], now=self.now, expires_at=self.now + 10)
        keyring.revoke(self.store, row.id, self.now)
        return secret

    def expired(self) -> str:
        return keyring.new_token(self.store, name="t", scopes=["admin"], repos=["*"], now=self.now - 100, expires_at=self.now - 1)[1]


@pytest.fixture
def world(store: Store, tmp_path: Path) -> World:
    return World(store, tmp_path)


@pytest.fixture
def client(world: World) -> Iterator[TestClient]:
    with TestClient(world.app) as made:
        yield made


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def calls(world: World, repo: str) -> Iterator[tuple[str, str, dict]]:
    """Every route and method of the application with arguments for one repository."""
    for route in world.app.routes:
        for method in sorted(route.methods - {"OPTIONS", "HEAD"}):
            path = route.path_format
            path = path.replace("{identity}", world.ids[repo]).replace("{repo}", repo).replace("{provider}", "github").replace("{path}", "nothing")
            path = path.replace("verdicts/{name}", "verdicts/src_score.txt").replace("evidence/{name}", "evidence/summary.md")
            assert "{" not in path, path
            more = {"json": {"repo": repo, "base": BASE, "head": HEAD}} if method == "POST" else {}
            query = f"?repo={repo}" if path in ("/badge.svg", "/v1/scores") and method == "GET" else ""
            yield method, path + query, more


def guarded(world: World, repo: str = "alpha") -> list[tuple[str, str, dict]]:
    open_paths = {path.replace("{provider:str}", "github") for path in OPEN_ROUTES}
    return [call for call in calls(world, repo) if call[1] not in open_paths]


def test_every_route_is_refused_without_a_good_credential(world: World, client: TestClient) -> None:
    bad = {"none": {}, "expired": bearer(world.expired()), "revoked": bearer(world.revoked()), "made up": bearer("trv_" + "x" * 43), "basic": {"authorization": "Basic eDp5"}, "empty": {"authorization": "Bearer "}, "jwt": bearer("a.b.c"), "cookie": {"cookie": "trivet_session=zzz"}}
    before = reading.scores(world.store, limit=500).rows
    seen = set()
    for (method, path, more), (name, headers) in itertools.product(guarded(world), bad.items()):
        answer = client.request(method, path, headers=headers, **more)
        assert answer.status_code == 401, (method, path, name, answer.text)
        assert set(answer.json()) <= {"status", "message"}
        seen.add((method, path))
    assert len(seen) >= 16
    assert reading.scores(world.store, limit=500).rows == before
    assert not world.jobs.told


def test_every_route_hides_the_repository_of_others(world: World, client: TestClient) -> None:
    headers = bearer(world.token("admin", "alpha"))
    for method, path, more in guarded(world, "beta"):
        answer = client.request(method, path, headers=headers, **more)
        if path == "/metrics":
            assert answer.status_code == 403, (method, path, answer.text)
        elif path in FOR_ALL:
            assert answer.status_code == (404 if path == "/v1/nothing" else 200)
            assert "beta" not in answer.text
        else:
            assert answer.status_code == 404, (method, path, answer.text)
    missing = client.get(f"/v1/scores/{'f' * 24}", headers=headers)
    hidden = client.get(f"/v1/scores/{world.ids['beta']}", headers=headers)
    assert (missing.status_code, missing.json()) == (hidden.status_code, hidden.json()), "what is hidden and what is not there look the same"


def test_a_scope_that_is_not_granted_is_refused(world: World, client: TestClient) -> None:
    reads, submits = bearer(world.token("read")), bearer(world.token("submit"))
    for method, path, more in guarded(world):
        changes = method != "GET"
        answer = client.request(method, path, headers=reads, **more)
        assert (answer.status_code == 403) is (changes or path == "/metrics"), (method, path, answer.status_code)
        answer = client.request(method, path, headers=submits, **more)
        everybody = path in FOR_ALL
        assert (answer.status_code == 403) is (not changes and not everybody), (method, path, answer.status_code)
    assert client.get("/v1/repos", headers=submits).json() == []


def test_who_may_only_submit_learns_no_verdict_by_asking_again(world: World, client: TestClient) -> None:
    row = score(world.store, world.ids["alpha"])
    with world.store.write() as c:
        from trivet.service.asking import policy_key

        c.execute(t.scores.update().where(t.scores.c.id == row.id).values(policy=policy_key(world.settings.repositories[0])))
    body = {"repo": "alpha", "base": row.base, "head": row.head}
    blind = client.post("/v1/scores", json=body, headers=bearer(world.token("submit"))).json()
    seeing = client.post("/v1/scores", json=body, headers=bearer(world.token("submit read"))).json()
    assert (blind["id"], blind["merge"], blind["decision"], set(blind["verdicts"].values())) == (row.id, None, None, {None})
    assert seeing["merge"] is row.merge
    assert seeing["decision"]["merge"] is row.merge


def test_a_browser_session_reads_but_changes_nothing_here(world: World, client: TestClient) -> None:
    token = keyring.find_token(world.store, world.token("admin", "*"), world.now)
    cookie = {"cookie": f"trivet_session={keyring.open_session(world.store, token, world.now, 100)}"}
    assert client.get(f"/v1/scores/{world.ids['alpha']}", headers=cookie).status_code == 200
    assert client.post("/v1/scores", json={"repo": "alpha", "base": BASE, "head": HEAD}, headers=cookie).status_code == 403
    assert client.delete(f"/v1/scores/{world.ids['alpha']}", headers=cookie).status_code == 403


def test_asking_is_accepted_once_and_enqueued(world: World, client: TestClient) -> None:
    headers = bearer(world.token())
    first = client.post("/v1/scores", json={"repo": "alpha", "base": BASE, "head": HEAD, "ref": "topic"}, headers=headers)
    again = client.post("/v1/scores", json={"repo": "alpha", "base": BASE, "head": HEAD, "ref": "topic"}, headers=headers)
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json()["id"] == again.json()["id"]
    assert first.headers["location"] == f"/v1/scores/{first.json()['id']}"
    newer = client.post("/v1/scores", json={"repo": "alpha", "base": BASE, "head": "d" * 40, "ref": "topic"}, headers=headers)
    assert client.get(first.headers["location"], headers=headers).json()["state"] == "superseded"
    assert ("cancel", first.json()["id"]) in world.jobs.told
    gone = client.delete(newer.headers["location"], headers=headers).json()
    assert (gone["state"], gone["over"], gone["merge"]) == ("cancelled", True, None)


def test_a_full_queue_and_a_stopping_service_say_so(world: World, client: TestClient) -> None:
    headers = bearer(world.token())
    answers = [client.post("/v1/scores", json={"repo": "alpha", "base": BASE, "head": f"{i:040x}"}, headers=headers) for i in range(3)]
    assert [answer.status_code for answer in answers] == [202, 202, 429], "three are open in the seed, five may be"
    assert answers[-1].headers["retry-after"]
    world.stopping = True
    assert client.post("/v1/scores", json={"repo": "alpha", "base": BASE, "head": HEAD}, headers=headers).status_code == 503
    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {}, [], None, "x", {"repo": "alpha", "base": BASE}, {"repo": "alpha", "base": BASE, "head": "main"}, {"repo": "alpha", "base": BASE, "head": HEAD[:39]},
        {"repo": "alpha", "base": BASE, "head": HEAD + "\n"}, {"repo": "../alpha", "base": BASE, "head": HEAD}, {"repo": "alpha", "base": BASE, "head": BASE},
        {"repo": "alpha", "base": BASE, "head": HEAD, "url": "https://evil"}, {"repo": "alpha", "base": BASE, "head": HEAD, "ref": "a b"}, {"repo": "alpha", "base": BASE, "head": HEAD, "ref": "x" * 301},
        {"repo": "alpha", "base": BASE.upper(), "head": HEAD}, {"repo": "alpha", "base": BASE, "head": HEAD, "command": ["sh"]},
    ],
)  # fmt: skip
def test_a_malformed_question_is_refused(world: World, client: TestClient, body) -> None:
    answer = client.post("/v1/scores", json=body, headers=bearer(world.token()))
    assert answer.status_code == 400, answer.text
    assert not world.jobs.told


@pytest.mark.parametrize("url", ["https://git.example/alpha", "file:///etc", "/srv/x", "http://169.254.169.254/"])
def test_a_repository_is_named_and_never_an_address(world: World, client: TestClient, url: str) -> None:
    answer = client.post("/v1/scores", json={"repo": url, "base": BASE, "head": HEAD}, headers=bearer(world.token("admin", "*")))
    assert answer.status_code == 400


@pytest.mark.parametrize("name", ["../../x", "..%2f..%2fservice.toml", "%2e%2e/%2e%2e/data/trivet.db", "decision.json%00", "decision.dsse.json", "review.json", "subject.json", "/etc/passwd", "src_score.txt"])
def test_no_path_leads_out_of_the_evidence(world: World, client: TestClient, name: str) -> None:
    headers = bearer(world.token("admin", "*"))
    for part in ("evidence", "verdicts") if name != "src_score.txt" else ("evidence",):
        answer = client.get(f"/v1/scores/{world.ids['alpha']}/{part}/{name}", headers=headers)
        assert answer.status_code in (400, 404), answer.text


def test_files_of_a_verdict_are_given_as_they_are_and_never_as_a_page(world: World, client: TestClient) -> None:
    headers = bearer(world.token())
    path = f"/v1/scores/{world.ids['alpha']}"
    row = score(world.store, world.ids["alpha"])
    assert client.get(f"{path}/decision.json", headers=headers).content == reading.evidence(world.store, row.n, "decision.json")
    assert client.get(f"{path}/verdicts/src_score.txt", headers=headers).text == f"{row.src_score}\n"
    summary = client.get(f"{path}/evidence/summary.md", headers=headers)
    assert (summary.text, summary.headers["content-type"], summary.headers["content-disposition"]) == ("# seed\n", "application/octet-stream", 'attachment; filename="summary.md"')
    assert client.get(f"{path}/dsse", headers=headers).status_code == 404


def test_below_full_only_words_leave(world: World, client: TestClient) -> None:
    headers = bearer(world.token("submit read", "beta"))
    path = f"/v1/scores/{world.ids['beta']}"
    assert set(client.get(f"{path}/decision.json", headers=headers).json()["verdicts"]["src-score"]) == {"status"}
    for part in ("dsse", "evidence/summary.md", "evidence/junit.xml"):
        assert client.get(f"{path}/{part}", headers=headers).status_code == 403, part
    assert client.get("/v1/repos/beta/history", headers=headers).json()["reasons"] == []
    assert client.get("/v1/repos/beta/leases", headers=headers).json()["leases"] == []
    admin = bearer(world.token("admin", "beta"))
    assert "findings" in client.get(f"{path}/decision.json", headers=admin).json()["verdicts"]["src-score"]


def test_events_end_with_the_score_and_go_on_where_a_reader_stopped(world: World, client: TestClient) -> None:
    headers = bearer(world.token())
    text = client.get(f"/v1/scores/{world.ids['alpha']}/events", headers=headers).text
    kinds = re.findall(r"^event: (\w+)", text, re.MULTILINE)
    assert kinds == ["queued", "fetching", "scoring", "done", "end"]
    second = re.findall(r"^id: (\d+)", text, re.MULTILINE)[1]
    text = client.get(f"/v1/scores/{world.ids['alpha']}/events", headers={**headers, "last-event-id": second}).text
    assert re.findall(r"^event: (\w+)", text, re.MULTILINE) == ["scoring", "done", "end"]


def test_pages_of_scores_are_walked_by_their_links(world: World, client: TestClient) -> None:
    headers = bearer(world.token())
    seen, url = [], "/v1/scores?limit=7&repo=alpha"
    while url:
        page = client.get(url, headers=headers).json()
        seen += [row["id"] for row in page["scores"]]
        url = page["next"]
    assert len(seen) == len(set(seen)) == 33


def test_nothing_is_public_unless_the_settings_say_so(store: Store, tmp_path: Path) -> None:
    private = World(store, tmp_path)
    with TestClient(private.app) as client:
        assert client.get("/v1/repos/alpha/badge.svg").status_code == 401
    access = Access(store=store, settings=settings_of({"schema": 1, "server": {"public": True}, "repositories": [{"name": "beta", "url": "https://x/b", "feedback": "verdict"}]}, tmp_path), clock=lambda: NOW)
    desk = Desk(settings=access.settings, store=store, clock=lambda: NOW, access=access, audit=Audit(store, lambda: NOW))
    with TestClient(create_app(desk, routes=api.routes())) as client:
        badge = client.get("/v1/repos/beta/badge.svg")
        assert (badge.status_code, badge.headers["content-type"], badge.text[:4]) == (200, "image/svg+xml", "<svg")
        assert client.get("/badge.svg?repo=beta").text == badge.text
        assert client.get(f"/v1/scores/{private.ids['beta']}").json()["decision"]["feedback"] == "verdict"
        assert client.get(f"/v1/scores/{private.ids['alpha']}").status_code == 401
        assert client.post("/v1/scores", json={"repo": "beta", "base": BASE, "head": HEAD}).status_code == 401
        assert client.get("/metrics").status_code == 401


def test_answers_carry_security_headers_and_errors_no_traceback(world: World, client: TestClient, capsys: pytest.CaptureFixture[str]) -> None:
    for path in ("/healthz", "/v1/scores", "/nowhere"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
    secret = world.token()
    with world.store.write() as c:
        c.exec_driver_sql("ALTER TABLE scores RENAME TO gone")
    answer = client.get("/v1/scores", headers=bearer(secret))
    assert (answer.status_code, set(answer.json())) == (503, {"status", "code", "message"})
    assert secret not in capsys.readouterr().err


def test_too_many_and_too_large_requests_are_refused(store: Store, tmp_path: Path) -> None:
    world = World(store, tmp_path, requests_per_minute=5, body_limit_b=300)
    with TestClient(world.app) as client:
        first, second = bearer(world.token()), bearer(world.token())
        assert client.post("/v1/scores", content=b"x" * 301, headers={**first, "content-type": "application/json"}).status_code == 413
        codes = [client.get("/v1/whoami", headers=first).status_code for _ in range(6)]
        assert codes[-1] == 429
        assert client.get("/v1/whoami", headers=second).status_code == 200
        assert client.get("/healthz").status_code == 200


def test_who_asked_what_is_in_the_audit_log_without_secrets(world: World, client: TestClient) -> None:
    secret = world.token()
    client.post("/v1/scores", json={"repo": "alpha", "base": BASE, "head": HEAD}, headers=bearer(secret))
    client.get("/v1/scores", headers=bearer("trv_wrong"))
    world.desk.audit.flush()
    rows = reading.audit(world.store).rows
    assert {(row.what, row.repo, row.outcome) for row in rows} >= {("ask", "alpha", "granted"), ("GET /v1/scores", "", "refused")}
    assert secret not in repr(rows)
    assert "trv_wrong" not in repr(rows)


def test_metrics_count_decisions_queue_and_answers(world: World, client: TestClient) -> None:
    headers = bearer(world.token("read", "*"))
    client.get("/v1/scores/made-up/nowhere", headers=headers)
    text = client.get("/metrics", headers=headers).text
    assert 'trivet_scores_open{state="queued"} 1.0' in text
    assert re.search(r'trivet_decisions_total\{repository="alpha",word="merge_ok"\} \d+', text)
    assert "made-up" not in text


# --- deliveries of forges -----------------------------------------------------------------------------


def delivery(secret: str, repo: str = "alpha", *, number: int = 7, name: str = "d1", event: str = "pull_request", identity: int = 11, **headers: str) -> dict:
    body = json.dumps({"action": "synchronize", "pull_request": {"number": number}, "repository": {"full_name": f"org/{repo}", "id": identity}}).encode()
    signature = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"content": body, "headers": {"content-type": "application/json", "x-github-event": event, "x-github-delivery": name, "x-hub-signature-256": signature, **headers}}


def test_a_signed_delivery_is_looked_at_once(world: World, client: TestClient) -> None:
    first = client.post("/v1/hooks/github", **delivery(SECRETS["alpha"]))
    again = client.post("/v1/hooks/github", **delivery(SECRETS["alpha"]))
    assert [(answer.status_code, answer.json()["outcome"]) for answer in (first, again)] == [(202, "taken"), (202, "known")]
    assert world.jobs.told == [("look", "github:d1", "alpha", "change", 7)]
    with world.store.read() as c:
        assert [row.id for row in c.execute(select(t.deliveries))] == ["github:d1"]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (delivery("wrong"), 401),
        (delivery(SECRETS["beta"]), 401),
        (delivery(SECRETS["alpha"], **{"x-hub-signature-256": ""}), 401),
        (delivery(SECRETS["alpha"], **{"x-hub-signature-256": "sha256=" + "0" * 64}), 401),
        (delivery(SECRETS["alpha"], **{"x-hub-signature-256": "sha1=" + "0" * 40}), 401),
        (delivery(SECRETS["alpha"], identity=99), 401),
        (delivery(SECRETS["alpha"], name=""), 400),
        (delivery(SECRETS["alpha"], name="x" * 101), 400),
        ({**delivery(SECRETS["alpha"]), "content": delivery(SECRETS["alpha"], number=8)["content"]}, 401),
    ],
)
def test_a_forged_delivery_does_nothing(world: World, client: TestClient, sent: dict, status: int) -> None:
    assert client.post("/v1/hooks/github", **sent).status_code == status
    assert not world.jobs.told


def test_deliveries_about_nothing_or_from_nowhere(world: World, client: TestClient) -> None:
    assert client.post("/v1/hooks/github", **delivery(SECRETS["alpha"], repo="else")).json() == {"outcome": "not a listed repository"}
    assert client.post("/v1/hooks/github", **delivery(SECRETS["alpha"], event="star")).json() == {"outcome": "nothing to do"}
    for provider in ("gitlab", "nobody", "..%2f"):
        assert client.post(f"/v1/hooks/{provider}", **delivery(SECRETS["alpha"])).status_code in (400, 404)
    assert not world.jobs.told


def test_a_decision_is_never_taken_back(world: World) -> None:
    assert not end(world.store, world.ids["alpha"], "cancelled", "x", NOW)
