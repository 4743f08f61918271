"""Jobs survive: whatever is killed, each score has exactly one decision, none is lost and none is doubled."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

from sqlalchemy import func, select

from postgres import needs_postgresql, postgresql
from service_process import Place, Running, outcome_of, until
from trivet.service import reading
from trivet.service import tables as t
from trivet.service.settings import read_settings
from trivet.service.store import Store, open_store

JOBS = int(os.environ.get("TRIVET_JOBS", "30"))
"""benchmarks/service_kills.py runs the same with 500."""


def check_each_decided_once(place: Place, store: Store) -> None:
    rows = reading.scores(store, limit=500).rows
    assert Counter(row.head for row in rows) == Counter(place.heads), "lost or doubled"
    assert {row.state for row in rows} == {"done"}, Counter((row.state, row.problem) for row in rows)
    assert {row.head: row.merge for row in rows} == {head: outcome_of(head) for head in place.heads}
    with store.read() as c:
        decided = c.execute(select(t.events.c.score_n, func.count()).where(t.events.c.kind == "decided").group_by(t.events.c.score_n)).all()
        sums = c.execute(select(*(func.sum(t.verdict_days.c[word]) for word in ("merged", "blocked", "undecided")))).one()
    assert Counter(count for _, count in decided) == {1: len(rows)}
    words = Counter("merged" if row.merge else "undecided" if row.cause == "infra" else "blocked" for row in rows)
    assert tuple(sums) == (words["merged"], words["blocked"], words["undecided"])


def opened(place: Place) -> Store:
    return open_store(read_settings(place.folder / "service.toml").store_url)


def finished(store: Store) -> int:
    with store.read() as c:
        return c.execute(select(func.count()).select_from(t.scores).where(t.scores.c.state == "done")).scalar_one()


def wait_for(store: Store, count: int, *processes: Running) -> None:
    until(lambda: finished(store) >= count, seconds=180, what="\n".join(running.said for running in processes))


def test_on_sqlite_a_killed_process_loses_and_doubles_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path, heads=JOBS, wait=0.05)
    running, address = place.serve()
    token = place.token()
    store = opened(place)
    pick = random.Random(5)
    try:
        asked = 0
        for goal in (JOBS // 4, JOBS // 2, JOBS):
            with place.client(address, token) as client:
                for head in place.heads[asked:goal]:
                    place.ask(client, head)
                asked = goal
                if goal < JOBS:
                    done = finished(store) + 1 + pick.randrange(2)
                    wait_for(store, min(done, goal), running)
            if goal < JOBS:
                running.kill()
                running, address = place.serve()
        wait_for(store, JOBS, running)
        check_each_decided_once(place, store)
    finally:
        store.close()
        assert running.stop() == 0, running.said
    assert "Traceback" not in running.said


@needs_postgresql
def test_on_postgresql_three_workers_killed_at_random_lose_and_double_nothing(tmp_path: Path) -> None:
    with postgresql() as url:
        place = Place(tmp_path, url=url, heads=JOBS, wait=0.05, slots=1)
        settings = (tmp_path / "service.toml").read_text()
        (tmp_path / "service.toml").write_text(settings.replace("[worker]", "[worker]\nembedded = false"))
        server, address = place.serve()
        workers: list[Running] = [place.start(f"worker{i}", "worker") for i in range(3)]
        token = place.token()
        store = opened(place)
        pick = random.Random(6)
        try:
            with place.client(address, token) as client:
                for head in place.heads:
                    place.ask(client, head)
            for worker in workers:
                worker.wait_for("works as")
            kills = 0
            while finished(store) < JOBS - 2 and kills < JOBS:
                goal = min(finished(store) + pick.randrange(JOBS // 8, JOBS // 4), JOBS - 2)
                wait_for(store, goal, *workers)
                victim = pick.randrange(3)
                workers[victim].kill()
                kills += 1
                workers[victim] = place.start(f"worker{victim}", "worker")
            wait_for(store, JOBS, *workers)
            assert kills >= 3
            check_each_decided_once(place, store)
        finally:
            store.close()
            for running in (server, *workers):
                running.wait_for("works as|serves on")
                assert running.stop() == 0, running.said


def test_a_second_process_on_sqlite_is_refused_by_name(tmp_path: Path) -> None:
    place = Place(tmp_path, heads=0)
    first, _ = place.serve()
    second = place.start("second", "worker")
    assert second.process.wait(60) == 3
    assert "another process judges on this store" in second.said
    assert first.stop() == 0
