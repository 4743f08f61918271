"""A store full of verdicts for tests, quickly: rows are written as a service would have left them, without judging anything."""

from __future__ import annotations

import json
import random
import zlib

from sqlalchemy import insert, select

from trivet.service import schema
from trivet.service import tables as t
from trivet.service.store import DAY_S, Store, sync_repositories

RULES = ("TRV201", "TRV101", "TRV102", "TRV203", "TRV301", "TRV305")
CHUNK = 5_000


def seed(store: Store, *, scores: int = 200, repos: tuple[str, ...] = ("alpha", "beta"), days: int = 30, now: float = 1_796_000_000.0) -> None:
    """Fill a store: ``scores`` ended scores spread over ``days`` before ``now``, some open ones, leases, owners, flaky tests.

    The same arguments give the same rows. One in eleven is blocked, one in a hundred could not be judged.
    """
    schema.migrate(store)
    sync_repositories(store, repos, now)
    pick = random.Random(7)
    with store.read() as c:
        ids = dict(c.execute(select(t.repositories.c.name, t.repositories.c.id)).all())
    by_day: dict[tuple[int, int], list[float]] = {}
    by_rule: dict[tuple[int, int, str], int] = {}
    for start in range(0, scores, CHUNK):
        rows, found, kept, happened = [], [], [], []
        for i in range(start, min(start + CHUNK, scores)):
            row, rule = _score(i, ids[repos[i % len(repos)]], now - days * DAY_S * (1 - (i + 1) / scores), pick)
            rows.append(row)
            sums = by_day.setdefault((row["repo_id"], int(row["ended_at"] // DAY_S)), [0, 0, 0, 0.0])
            sums[0 if row["merge"] else 2 if row["cause"] == "infra" else 1] += 1
            sums[3] += row["duration_s"]
            if rule:
                key = (row["repo_id"], int(row["ended_at"] // DAY_S), rule)
                by_rule[key] = by_rule.get(key, 0) + 1
                found.append(_finding(i + 1, rule))
            if i >= scores - 200:
                kept += [{"score_n": i + 1, "name": name, "size_b": len(data), "content": zlib.compress(data)} for name, data in files(row, rule).items()]
                happened += [{"score_n": i + 1, "at": row["queued_at"] + j, "kind": kind, "text": ""} for j, kind in enumerate(("queued", "fetching", "scoring", "done"))]
        with store.write() as c:
            c.execute(insert(t.scores), rows)
            for table, values in ((t.findings, found), (t.evidence, kept), (t.events, happened)):
                if values:
                    c.execute(insert(table), values)
    with store.write() as c:
        c.execute(insert(t.verdict_days), [dict(zip(("repo_id", "day", "merged", "blocked", "undecided", "seconds"), (*key, *sums), strict=True)) for key, sums in by_day.items()])
        if by_rule:
            c.execute(insert(t.reason_days), [{"repo_id": key[0], "day": key[1], "rule": key[2], "blocked": count} for key, count in by_rule.items()])
        c.execute(insert(t.scores), [_open(scores + j, ids[repos[0]], now, state) for j, state in enumerate(("queued", "fetching", "scoring"))])
        c.execute(insert(t.leases), [_lease(ids[repos[0]], j, now) for j in range(4)])
        c.execute(insert(t.owners), [{"repo_id": ids[repos[0]], "position": j, "pattern": pattern, "names": "@team/oracles @mona", "base": "b" * 40} for j, pattern in enumerate(("/tests/sealed/", "/ci/"))])
        c.execute(insert(t.flaky), [{"repo_id": ids[repos[0]], "test": f"tests/sealed/test_clock.py::test_tick[{j}]", "seen": 9 - j, "first_at": now - 9 * DAY_S, "last_at": now - j * 3600, "last_score": rows[-1]["id"], "why": "red, then green, with one replay key"} for j in range(3)])


def _score(i: int, repo_id: int, at: float, pick: random.Random) -> tuple[dict, str]:
    blocked, infra = i % 11 == 3, i % 101 == 50
    rule = RULES[pick.randrange(len(RULES))] if blocked else "TRV209" if infra else ""
    leg = {"1": "oracle_integrity", "2": "src_score", "3": "flake_lease"}.get(rule[3:4], "")
    words = {"src_score": "PASS", "oracle_integrity": "PASS", "flake_lease": "PASS"}
    if leg:
        words[leg] = "NOT_RUN" if infra else "FAIL"
    took = pick.uniform(2, 40)
    return {
        "id": f"{i:024x}", "repo_id": repo_id, "base": f"{i % 97:040x}", "head": f"{i + 1:040x}", "policy": "seed", "attempt": 1,
        "ref": f"pull/{i // 3}", "source": "api", "asked_by": "agent (seed)", "state": "done", "queued_at": at - took, "started_at": at - took + 0.2,
        "ended_at": at, "merge": not rule, "cause": "infra" if infra else "property" if rule == "TRV201" else "", "problem": "", "kind": "patch",
        "replay_key": f"{i:064x}", "isolation": "shared", "wall": "kernel", "duration_s": took, **words,
    }, rule  # fmt: skip


def _open(i: int, repo_id: int, now: float, state: str) -> dict:
    return {
        "id": f"{i:024x}", "repo_id": repo_id, "base": "b" * 40, "head": f"{i:040x}", "policy": "seed", "attempt": 1, "ref": f"pull/{i}", "source": "api",
        "asked_by": "agent (seed)", "state": state, "queued_at": now - 5, "started_at": None if state == "queued" else now - 3,
    }  # fmt: skip


def _finding(n: int, rule: str) -> dict:
    return {
        "score_n": n, "position": 0, "leg": {"1": "oracle-integrity", "2": "src-score", "3": "flake-lease"}[rule[3]], "rule": rule, "level": "error",
        "message": f"a finding of {rule}", "path": "src/pkg/core.py", "line": 3, "next": "",
    }  # fmt: skip


def _lease(repo_id: int, j: int, now: float) -> dict:
    return {
        "repo_id": repo_id, "position": j, "qualname": f"tests/sealed/test_net.py::test_wait_{j}", "path": "tests/sealed/test_net.py", "owner": "@mona",
        "reason": "waits for a socket", "signature": "TimeoutError", "expires_at": now + (j * 20 - 5) * DAY_S, "first_seen_at": now - 40 * DAY_S, "base": "b" * 40,
    }  # fmt: skip


def files(row: dict, rule: str) -> dict[str, bytes]:
    """Verdict files of a score, as the command would write them (a decision that holds to the schema)."""
    verdicts = {
        leg: {"status": row[leg.replace("-", "_")], "cause": row["cause"] if row[leg.replace("-", "_")] != "PASS" else "", "findings": []}
        for leg in ("src-score", "oracle-integrity", "flake-lease")
    }
    if rule:
        found = _finding(0, rule)
        verdicts[found["leg"]]["findings"] = [{key: found[key] for key in ("rule", "level", "message", "path", "line", "next")}]
    durations = {f"tests/sealed/test_core.py::test_{j}": 0.01 * (j + 1) for j in range(12)}
    run = {
        "tests": {"passed": 12}, "controls": {"red": 4}, "isolation": {"shared": ["tests/sealed/test_core.py"]}, "signs": [], "durations": durations,
        "wall": {"name": "kernel", "guarantees": ["network: no socket of any family"], "lacks": []}, "duration_s": row["duration_s"],
    }  # fmt: skip
    decision = {
        "schema": 1, "tool": {"name": "trivet", "version": "0"}, "base": {"commit": row["base"], "tree": "1" * 40}, "head": {"commit": row["head"], "tree": "2" * 40},
        "turned_green": [], "merge_base": row["base"], "score_tree": "3" * 40, "policy": {"digest": "4" * 64, "source": "trivet.toml"},
        "change": {"kind": "patch", "paths": [{"path": "src/pkg/core.py", "zone": "source", "status": "M"}]}, "verdicts": verdicts, "merge": row["merge"],
        "replay_key": {"digest": row["replay_key"], "seed": 20260922},
        "run": run, "advisory": None,
    }  # fmt: skip
    words = {f"{leg.replace('-', '_')}.txt": f"{verdict['status']}\n".encode() for leg, verdict in verdicts.items()}
    return {"decision.json": json.dumps(decision).encode(), "summary.md": b"# seed\n", **words}
