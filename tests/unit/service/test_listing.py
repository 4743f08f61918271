"""Questions of the dashboard are answered from an index: what they cost does not grow with the number of runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import event

from service_million import fill
from trivet.service import listing, reading
from trivet.service.listing import RunQuery
from trivet.service.store import Ask, Store, ask, end, open_store

NOW = 1_796_000_000.0
NAMES = ("alpha", "beta")
QUESTIONS: dict[str, Callable[[Store], object]] = {
    "newest": lambda store: listing.runs(store, RunQuery(names=NAMES)),
    "one repository": lambda store: listing.runs(store, RunQuery(names=NAMES[:1])),
    "far back": lambda store: listing.runs(store, RunQuery(names=NAMES, after=2_000)),
    "blocked": lambda store: listing.runs(store, RunQuery(names=NAMES, word="blocked")),
    "undecided": lambda store: listing.runs(store, RunQuery(names=NAMES, word="undecided", limit=20)),
    "queued": lambda store: listing.runs(store, RunQuery(names=NAMES, word="queued")),
    "running": lambda store: listing.runs(store, RunQuery(names=NAMES, word="running")),
    "rule": lambda store: listing.runs(store, RunQuery(names=NAMES, rule="TRV101")),
    "rule that never blocked": lambda store: listing.runs(store, RunQuery(names=NAMES, rule="TRV999")),
    "head": lambda store: listing.runs(store, RunQuery(names=NAMES, head="ffff")),
    "queue": lambda store: reading.queue(store, NAMES, limit=8),
    "queue counts": lambda store: listing.counts_of_queue(store, NAMES),
    "queue of one": lambda store: reading.queued_count(store, "alpha"),
    "state": lambda store: reading.scores(store, NAMES, state="failed"),
    "days": lambda store: reading.days(store, NAMES, now=NOW),
    "reasons": lambda store: reading.reasons(store, NAMES, now=NOW),
    "total": lambda store: listing.total(store, NAMES),
    "repositories": lambda store: reading.repositories(store, NAMES),
}


@pytest.fixture(scope="session")
def stores(migrated, tmp_path_factory) -> Iterator[tuple[Store, Store]]:
    made = []
    for count in (8_000, 48_000):
        file = tmp_path_factory.mktemp("fill") / "store.db"
        shutil.copy(migrated, file)
        store = open_store(f"sqlite:///{file}")
        fill(store, count, NOW)
        ask(store, Ask(repo="alpha", base="b" * 40, head="c" * 40, policy="p"), NOW)
        given_up, _ = ask(store, Ask(repo="beta", base="b" * 40, head="d" * 40, policy="p"), NOW)
        end(store, given_up.id, "failed", "the disk was full", NOW)
        made.append(store)
    yield made[0], made[1]
    for store in made:
        store.close()


def steps(store: Store, question: Callable[[Store], object]) -> int:
    """What a question costs, in scores of instructions of SQLite's machine: the same each time, whatever else the host does."""
    count = 0

    def tick() -> int:
        nonlocal count
        count += 1
        return 0

    def watch(connection, *_) -> None:
        connection.connection.driver_connection.set_progress_handler(tick, 20)

    event.listen(store.engine, "begin", watch)
    try:
        question(store)
    finally:
        event.remove(store.engine, "begin", watch)
    return count


@pytest.mark.parametrize("name", QUESTIONS)
def test_six_times_as_many_runs_cost_no_more(stores, name) -> None:
    few, many = (steps(store, QUESTIONS[name]) for store in stores)
    assert many <= few * 1.5 + 50, (few, many)


def test_the_measure_sees_a_question_that_grows(stores) -> None:
    grows = lambda store: listing.runs(store, RunQuery(names=NAMES, word="nothing", rule="", limit=100_000))  # noqa: E731
    few, many = (steps(store, grows) for store in stores)
    assert many > few * 3


def test_a_list_over_several_repositories_is_in_one_order_and_whole(stores) -> None:
    seen, after = [], None
    while True:
        page = listing.runs(stores[0], RunQuery(names=NAMES, after=after, limit=500))
        seen += [row.n for row in page.rows]
        after = page.after
        if after is None:
            break
    assert seen == list(range(8_002, 0, -1))


@pytest.mark.parametrize("word", ["merge", "blocked", "undecided", "queued"])
def test_each_run_has_one_outcome(stores, word) -> None:
    page = listing.runs(stores[0], RunQuery(names=NAMES, word=word, limit=10_000))
    count = {"merge": 6_640, "blocked": 1_320, "undecided": 41, "queued": 1}[word]
    assert len(page.rows) == count
    assert [row.n for row in page.rows] == sorted({row.n for row in page.rows}, reverse=True)


@pytest.mark.parametrize(("head", "count"), [("c" * 40, 1), ("cccc", 1), ("ccc", 0), ("' OR 1=1 --", 0), ("%", 0)])
def test_a_head_is_found_by_its_start_and_nothing_else(stores, head, count) -> None:
    rows = listing.runs(stores[0], RunQuery(names=NAMES, head=head)).rows
    assert len([row for row in rows if row.state == "queued"]) == count


def test_nothing_is_listed_of_repositories_that_were_not_named(stores) -> None:
    assert listing.runs(stores[0], RunQuery(names=())).rows == ()
    assert {row.repo for row in listing.runs(stores[0], RunQuery(names=("beta",), rule="TRV201")).rows} == {"beta"}
    assert listing.counts_of_queue(stores[0], ("beta",)) == (0, 0)
    assert listing.counts_of_queue(stores[0], NAMES) == (1, 0)
