"""A score is asked for once, decided once, and ends once."""

from __future__ import annotations

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import func, select

from service_seed import seed
from trivet.errors import StoreError
from trivet.service import reading, schema
from trivet.service import tables as t
from trivet.service.store import (
    Ask,
    Decided,
    Store,
    ask,
    decide,
    end,
    finish,
    keep_evidence,
    keep_picture,
    move,
    open_store,
    pictured,
    score,
    supersede,
    sync_repositories,
)

WANTED = Ask(repo="alpha", base="a" * 40, head="b" * 40, policy="p", ref="pull/1", asked_by="agent")
GREEN = Decided(merge=True, src_score="PASS", oracle_integrity="PASS", flake_lease="PASS", duration_s=2.0)
RED = Decided(
    merge=False, src_score="FAIL", oracle_integrity="PASS", flake_lease="PASS", cause="property", duration_s=1.0,
    findings=({"leg": "src-score", "rule": "TRV201", "level": "error", "message": "m", "path": "src/a.py", "line": 1, "next": ""},),
    flaky=(("tests/sealed/test_a.py::test_b", "red, then green"),),
)  # fmt: skip


def other(head: str) -> Ask:
    return Ask(repo="alpha", base="a" * 40, head=head * 40, policy="p", ref="pull/1")


def test_the_same_question_gives_the_same_score(store: Store) -> None:
    first, made = ask(store, WANTED, 1.0)
    again, made_again = ask(store, WANTED, 2.0)
    assert (made, made_again) == (True, False)
    assert again == first
    assert (first.state, first.queued_at, first.merge) == ("queued", 1.0, None)


def test_another_policy_is_another_question(store: Store) -> None:
    first, _ = ask(store, WANTED, 1.0)
    second, made = ask(store, Ask(repo="alpha", base="a" * 40, head="b" * 40, policy="q"), 1.0)
    assert made
    assert second.id != first.id


@pytest.mark.parametrize("state", ["failed", "superseded", "cancelled"])
def test_what_ended_without_a_decision_may_be_asked_again(store: Store, state: str) -> None:
    first, _ = ask(store, WANTED, 1.0)
    assert end(store, first.id, state, "gone", 2.0)
    second, made = ask(store, WANTED, 3.0)
    assert made
    assert (second.attempt, second.id == first.id) == (2, False)


def test_an_unknown_or_unlisted_repository_has_no_scores(store: Store) -> None:
    with pytest.raises(StoreError):
        ask(store, Ask(repo="nowhere", base="a", head="b", policy="p"), 1.0)
    sync_repositories(store, ("beta",), 2.0)
    with pytest.raises(StoreError):
        ask(store, WANTED, 3.0)


def test_a_decision_stands_once(store: Store) -> None:
    made, _ = ask(store, WANTED, 1.0)
    assert move(store, made.id, "scoring", 2.0)
    assert decide(store, made.id, RED, 3.0)
    assert not decide(store, made.id, GREEN, 4.0)
    assert not end(store, made.id, "failed", "too late", 5.0)
    finish(store, made.id, 6.0)
    assert not move(store, made.id, "scoring", 7.0)
    after = score(store, made.id)
    assert (after.state, after.merge, after.src_score, after.ended_at) == ("done", False, "FAIL", 3.0)
    assert [row.rule for row in reading.findings(store, after.n)] == ["TRV201"]
    assert [(row.merged, row.blocked, row.undecided, row.seconds) for row in reading.days(store, now=3.0)] == [(0, 1, 0, 1.0)]
    assert [(row.rule, row.blocked) for row in reading.reasons(store, now=3.0)] == [("TRV201", 1)]
    assert [(row.test, row.seen) for row in reading.flaky(store)] == [("tests/sealed/test_a.py::test_b", 1)]
    assert [row.kind for row in reading.events(store, after.n)] == ["queued", "scoring", "decided", "done"]


def test_what_was_superseded_is_never_decided(store: Store) -> None:
    old, _ = ask(store, other("b"), 1.0)
    new, _ = ask(store, other("c"), 2.0)
    assert supersede(store, new, 3.0) == (old.id,)
    assert not decide(store, old.id, GREEN, 4.0)
    assert score(store, old.id).state == "superseded"
    assert score(store, new.id).state == "queued"


def test_only_older_heads_of_the_same_ref_are_superseded(store: Store) -> None:
    old, _ = ask(store, other("b"), 1.0)
    free, _ = ask(store, Ask(repo="alpha", base="a" * 40, head="d" * 40, policy="p"), 1.0)
    decided, _ = ask(store, other("e"), 1.0)
    decide(store, decided.id, GREEN, 2.0)
    foreign, _ = ask(store, Ask(repo="beta", base="a" * 40, head="b" * 40, policy="p", ref="pull/1"), 2.0)
    new, _ = ask(store, other("c"), 3.0)
    assert supersede(store, new, 4.0) == (old.id,)
    assert {score(store, x.id).state for x in (free, foreign)} == {"queued"}
    assert score(store, decided.id).merge is True


def test_evidence_is_kept_as_it_was_first_written(store: Store) -> None:
    made, _ = ask(store, WANTED, 1.0)
    keep_evidence(store, made.id, {"decision.json": b"one", "summary.md": b"s"})
    keep_evidence(store, made.id, {"decision.json": b"two"})
    assert reading.evidence(store, made.n, "decision.json") == b"one"
    assert reading.evidence_names(store, made.n) == (("decision.json", 3), ("summary.md", 1))
    assert reading.evidence(store, made.n, "nothing") is None


def test_a_newer_ledger_replaces_the_older_and_keeps_when_a_lease_was_first_seen(store: Store) -> None:
    row = {"qualname": "q", "path": "p", "owner": "o", "reason": "r", "signature": "s", "expires_at": 9.0}
    own = [{"pattern": "tests/sealed/test_a.py", "names": "@a @b"}]
    keep_picture(store, "alpha", "a" * 40, leases=[row, {**row, "qualname": "gone"}], owners=own, now=10.0)
    keep_picture(store, "alpha", "b" * 40, leases=[{**row, "expires_at": 20.0}, {**row, "qualname": "new"}], owners=own, now=11.0)
    assert pictured(store, "alpha") == "b" * 40
    assert [(row.pattern, row.names) for row in reading.owners(store, ["alpha"])] == [("tests/sealed/test_a.py", ("@a", "@b"))]
    found = {lease.qualname: lease for lease in reading.leases(store)}
    assert set(found) == {"q", "new"}
    assert (found["q"].first_seen_at, found["q"].expires_at, found["new"].first_seen_at) == (10.0, 20.0, 11.0)


def test_pages_cut_by_key_hold_every_score_once(store: Store) -> None:
    seed(store, scores=130, repos=("alpha", "beta"))
    seen: list[int] = []
    after = None
    while True:
        page = reading.scores(store, after=after, limit=50)
        seen += [row.n for row in page.rows]
        after = page.after
        if after is None:
            break
    assert seen == list(range(133, 0, -1))
    assert {row.repo for row in reading.scores(store, ["beta"]).rows} == {"beta"}
    assert {row.merge for row in reading.scores(store, merge=False).rows} == {False}
    assert [row.state for row in reading.queue(store)] == ["queued", "fetching", "scoring"]
    assert reading.queued_count(store, "alpha") == 3


def test_pages_ask_the_index_and_never_sort(store: Store) -> None:
    """What makes a million rows readable: no plan scans the table or sorts it."""
    seed(store, scores=130)
    for text in (
        "SELECT * FROM scores WHERE repo_id = 1 AND n < 100 ORDER BY n DESC LIMIT 50",
        "SELECT * FROM scores WHERE repo_id = 1 AND merge = 0 ORDER BY n DESC LIMIT 50",
        "SELECT * FROM scores WHERE repo_id = 1 AND ref = 'pull/1' ORDER BY n DESC LIMIT 50",
        "SELECT * FROM scores WHERE state = 'queued' ORDER BY n",
        "SELECT * FROM events WHERE score_n = 5 AND n > 7 ORDER BY n",
    ):
        with store.read() as c:
            plan = " ".join(row[3] for row in c.exec_driver_sql("EXPLAIN QUERY PLAN " + text))
        assert "SEARCH" in plan, text
        assert "TEMP B-TREE" not in plan, text


def test_the_schema_goes_up_down_and_up_and_is_what_the_code_says(store: Store) -> None:
    schema.check(store)
    with store.read() as c:
        assert compare_metadata(MigrationContext.configure(c), t.metadata) == []
    assert schema.migrate(store, "base") is None
    with pytest.raises(StoreError, match="revision None"):
        schema.check(store)
    with store.read() as c:
        assert c.exec_driver_sql("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name != 'alembic_version'").scalar() == 0
    assert schema.migrate(store) == schema.newest()
    assert schema.migrate(store) == schema.newest()
    with pytest.raises(StoreError, match="unknown revision"):
        schema.migrate(store, "9999")


def test_a_store_that_is_newer_than_this_version_is_left_alone(store: Store) -> None:
    with store.write() as c:
        c.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreError, match="9999"):
        schema.migrate(store)


@pytest.mark.parametrize("url", ["nothing", "mysql://x/y", "sqlite://", "sqlite:///:memory:"])
def test_only_a_file_or_postgresql_is_a_store(url: str) -> None:
    with pytest.raises(StoreError):
        open_store(url)


def test_a_broken_store_says_so_without_the_values_of_a_statement(store: Store) -> None:
    with store.write() as c:
        c.exec_driver_sql("ALTER TABLE scores RENAME TO gone")
    with pytest.raises(StoreError) as caught:
        ask(store, WANTED, 1.0)
    assert "agent" not in str(caught.value)
    with store.read() as c:
        assert c.execute(select(func.count()).select_from(t.events)).scalar() == 0
