"""The service as a process: a real judgement from question to signature, an orderly stop, slow clients, backup and restore."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from postgres import needs_postgresql, postgresql
from repos import VERDICTS
from service_process import ROOT, Place, until
from trivet.service import reading
from trivet.service.settings import read_settings
from trivet.service.store import Ask, Decided, ask, decide, open_store, score, sync_repositories


def trivet(place: Place, *words: str, token: str = "") -> subprocess.CompletedProcess[str]:
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(place.folder), "PYTHONPATH": str(ROOT / "src"), "TRIVET_TOKEN": token}
    return subprocess.run([sys.executable, "-m", "trivet", *words], env=env, cwd=place.folder, capture_output=True, text=True, check=False, timeout=240)


def test_a_commit_is_judged_signed_logged_and_fetched_with_the_exit_status_of_the_gate(tmp_path: Path) -> None:
    place = Place(tmp_path, heads=0, stub=False, more="", repo_more=f'python = "{sys.executable}"\nadvisory = false\ncontrols = "sample"')
    base = place.repo.commit(VERDICTS)
    place.repo.git("checkout", "-q", "-b", "topic")
    bad = place.repo.commit({"src/pkg/core.py": "def double(n):\n    return 5\n"})
    assert trivet(place, "key", "new", "--out", "key").returncode == 0
    with (tmp_path / "service.toml").open("a") as file:
        file.write('[sign]\nkey_file = "key"\nlog = "verdicts.log"\n')
    running, address = place.serve()
    try:
        token = place.token()
        words = ("submit", "--server", address, "--project", "alpha", "--repo", str(place.repo.root), "--base", base, "--head", "topic", "--wait", "--out", "out")
        told = trivet(place, *words, token=token)
        assert told.returncode == 1, told.stderr + running.said
        assert told.stdout.splitlines()[-1] == "MERGE_BLOCKED: PASS PASS FAIL"
        assert "TRV201" in told.stdout
        assert {path.name for path in (tmp_path / "out").iterdir()} == {"src_score.txt", "oracle_integrity.txt", "flake_lease.txt", "decision.json"}
        decision = json.loads((tmp_path / "out" / "decision.json").read_text())
        assert (decision["head"]["commit"], decision["merge"]) == (bad, False)
        with place.client(address, token) as client:
            row = client.post("/v1/scores", json={"repo": "alpha", "base": base, "head": bad})
            assert row.status_code == 200, "the same question is answered at once"
            (tmp_path / "envelope.json").write_bytes(client.get(f"/v1/scores/{row.json()['id']}/dsse").content)
        verified = trivet(place, "verify", "envelope.json", "--key", "key.pub")
        assert "MERGE_BLOCKED" in verified.stdout + verified.stderr or verified.returncode in (0, 1), verified.stderr
        assert "not" not in verified.stderr.lower() or verified.returncode == 1
        assert len((tmp_path / "verdicts.log").read_text().splitlines()) == 1
        wrong = trivet(place, *words, token="trv_wrong")
        assert wrong.returncode == 2
        assert "unknown, expired or revoked" in wrong.stderr
        assert not (tmp_path / "out" / "decision.json").exists()
        assert (tmp_path / "out" / "src_score.txt").read_text() == "NOT_RUN\n"
    finally:
        assert running.stop() == 0, running.said
    assert token not in running.said
    assert "c4nary" not in running.said


def test_sigterm_lets_what_runs_end_or_leaves_it_to_the_next_start(tmp_path: Path) -> None:
    place = Place(tmp_path, heads=2, wait=1.0, slots=1)
    running, address = place.serve()
    with place.client(address, place.token()) as client:
        for head in place.heads:
            place.ask(client, head)
        until(place.runs.read_text)
    assert running.stop() == 0, running.said
    store = open_store(read_settings(tmp_path / "service.toml").store_url)
    try:
        states = sorted(row.state for row in reading.scores(store).rows)
        assert states == ["done", "queued"], running.said
        running, _ = place.serve("again")
        until(lambda: all(row.state == "done" for row in reading.scores(store).rows), what=running.said)
        assert len(place.runs.read_text().splitlines()) == 2, "what was done is not done again"
        assert running.stop() == 0, running.said
    finally:
        store.close()


def test_a_newer_head_ends_the_run_of_the_older_one(tmp_path: Path) -> None:
    place = Place(tmp_path, heads=2, wait=600.0, slots=1)
    running, address = place.serve()
    try:
        with place.client(address, place.token()) as client:
            old = place.ask(client, place.heads[0], ref="topic")
            until(place.runs.read_text)
            (tmp_path / "stub.json").write_text(json.dumps({"wait": 0, "log": str(place.runs)}))
            new = place.ask(client, place.heads[1], ref="topic")
            until(lambda: client.get(f"/v1/scores/{new['id']}").json()["state"] == "done", what=running.said)
            after = client.get(f"/v1/scores/{old['id']}").json()
            assert (after["state"], after["merge"]) == ("superseded", None)
    finally:
        assert running.stop() == 0, running.said


def test_clients_that_are_slow_or_send_nonsense_hold_nobody_up(tmp_path: Path) -> None:
    place = Place(tmp_path, heads=1, more="request_timeout_s = 1")
    running, address = place.serve()
    token = place.token()
    place_of = urlsplit(address)
    try:
        slow = []
        for sent in (b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-", f"POST /v1/scores HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode()):
            for _ in range(5):
                connection = socket.create_connection((place_of.hostname, place_of.port), timeout=20)
                connection.sendall(sent)
                slow.append(connection)
        with place.client(address, token) as client:
            began = time.monotonic()
            assert client.get("/healthz").status_code == 200
            assert client.post("/v1/scores", json={"repo": "alpha", "base": place.base, "head": place.heads[0]}).status_code == 202
            assert time.monotonic() - began < 10
        for connection in slow:
            with closing(connection):
                connection.settimeout(20)
                answer = connection.recv(200)
                assert b" 200 " not in answer
                assert b" 202 " not in answer
        for nonsense in (b"\x00\xff" * 50 + b"\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", b"POST /v1/scores HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"):
            with closing(socket.create_connection((place_of.hostname, place_of.port), timeout=20)) as connection:
                connection.sendall(nonsense)
                assert re.match(rb"HTTP/1.1 [34]\d\d|$", connection.recv(100))
    finally:
        assert running.stop() == 0, running.said


def fill(url: str) -> str:
    store = open_store(url)
    sync_repositories(store, ("alpha",), 1.0)
    made, _ = ask(store, Ask(repo="alpha", base="a" * 40, head="b" * 40, policy="p"), 1.0)
    decide(store, made.id, Decided(merge=True, src_score="PASS", oracle_integrity="PASS", flake_lease="PASS"), 2.0)
    store.close()
    return made.id


def merge_after_restoring(place: Place, empty: Path | str) -> bool | None:
    """What a score says in a store that was restored from a backup of another."""
    config = ("--config", str(place.folder / "service.toml"))
    assert trivet(place, "store", "migrate", *config).stdout.strip() == "0001"
    settings = read_settings(place.folder / "service.toml")
    identity = fill(settings.store_url)
    made = trivet(place, "store", "backup", "copy", *config)
    assert made.returncode == 0, made.stderr
    again = trivet(place, "store", "backup", "copy", *config)
    assert again.returncode == 3
    assert "must be new" in again.stderr
    refused = trivet(place, "store", "restore", "copy", *config)
    assert refused.returncode == 3, "nothing is overwritten"
    text = (place.folder / "service.toml").read_text()
    if isinstance(empty, Path):
        (place.folder / "service.toml").write_text(text.replace('data = "data"', 'data = "other"'))
    else:
        (place.folder / "store.url").write_text(empty)
    restored = trivet(place, "store", "restore", "copy", *config)
    assert restored.returncode == 0, restored.stderr
    assert trivet(place, "store", "check", *config).returncode == 0
    store = open_store(read_settings(place.folder / "service.toml").store_url)
    try:
        return score(store, identity).merge
    finally:
        store.close()


def test_a_backup_of_sqlite_can_be_restored_elsewhere(tmp_path: Path) -> None:
    assert merge_after_restoring(Place(tmp_path, heads=0), tmp_path) is True


@needs_postgresql
def test_a_backup_of_postgresql_can_be_restored_and_the_schema_goes_down_and_up(tmp_path: Path) -> None:
    from sqlalchemy import create_engine, text

    with postgresql() as url:
        engine = create_engine(url, isolation_level="AUTOCOMMIT")
        with engine.connect() as c:
            c.execute(text("CREATE DATABASE second"))
        engine.dispose()
        place = Place(tmp_path, heads=0, url=url)
        assert merge_after_restoring(place, url.replace("/postgres?", "/second?")) is True
        config = ("--config", str(tmp_path / "service.toml"))
        assert trivet(place, "store", "migrate", "--to", "base", *config).stdout.strip() == "base"
        assert trivet(place, "store", "check", *config).returncode == 3
        assert trivet(place, "store", "migrate", *config).stdout.strip() == "0001"


@pytest.mark.parametrize(("text", "says"), [("schema = 1\n[servr]\n", "did you mean 'server'"), ("schema = 2\n", "schema = 1"), ("", "schema = 1")])
def test_wrong_settings_are_one_clear_message(tmp_path: Path, text: str, says: str) -> None:
    place = Place(tmp_path, heads=0)
    (tmp_path / "service.toml").write_text(text)
    told = trivet(place, "serve", "--config", "service.toml")
    assert told.returncode == 2
    assert says in told.stderr
    assert "Traceback" not in told.stderr
