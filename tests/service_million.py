"""Fills a SQLite store with runs, as many as asked for, with SQL alone: a million take seconds.

One in six is blocked, one in two hundred is not judged; the counts of the days are made from the rows, as the service would have made them.
"""

from __future__ import annotations

import hashlib

from trivet.service.store import DAY_S, Store

_SCORES = """
WITH RECURSIVE step(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM step WHERE i + 1 < :count)
INSERT INTO scores (id, repo_id, base, head, policy, attempt, ref, source, asked_by, state, queued_at, started_at, ended_at, "merge",
  src_score, oracle_integrity, flake_lease, cause, problem, kind, replay_key, isolation, wall, duration_s, log_index)
SELECT printf('%024x', i + 1), r.id, printf('%040x', i / 50), printf('%08x%032x', (i * 2654435761) % 4294967296, i), :policy, 1,
  'refs/heads/agent-' || (i % 97), 'api', 'seed', 'done',
  :start + i * :step - 9, :start + i * :step - 8, :start + i * :step,
  i % 6 > 0 AND i % 200 > 0,
  CASE WHEN i % 200 = 0 THEN 'NOT_RUN' WHEN i % 12 = 0 THEN 'FAIL' WHEN i % 6 = 0 THEN 'NOT_RUN' ELSE 'PASS' END,
  CASE WHEN i % 200 = 0 THEN 'PASS' WHEN i % 12 = 6 THEN 'FAIL' ELSE 'PASS' END, 'PASS',
  CASE WHEN i % 200 = 0 THEN 'infra' WHEN i % 12 = 0 THEN 'property' ELSE '' END, '', 'patch', '', 'split', 'kernel', (i % 70) / 10.0 + 0.3, i
FROM step JOIN (SELECT id, row_number() OVER (ORDER BY id) - 1 AS place, count(*) OVER () AS all_of FROM repositories) r
  ON r.place = (i * 7 + i / 13) % r.all_of
"""
_FINDINGS = """
INSERT INTO findings (score_n, position, leg, rule, level, message, path, line, next)
SELECT n, 0, CASE WHEN src_score = 'FAIL' THEN 'src-score' ELSE 'oracle-integrity' END, CASE WHEN src_score = 'FAIL' THEN 'TRV201' ELSE 'TRV101' END,
  'error', 'tests/sealed/test_core.py::test_' || (n % 50) || ' (green on base): AssertionError', 'tests/sealed/test_core.py', 5, ''
FROM scores WHERE src_score = 'FAIL' OR oracle_integrity = 'FAIL'
"""
_DAYS = """
INSERT INTO verdict_days (repo_id, day, merged, blocked, undecided, seconds)
SELECT repo_id, CAST(ended_at / 86400 AS INTEGER), sum("merge"), sum(NOT "merge" AND cause <> 'infra'), sum(cause = 'infra'), sum(duration_s)
FROM scores WHERE "merge" IS NOT NULL GROUP BY 1, 2
"""
_REASONS = """
INSERT INTO reason_days (repo_id, day, rule, blocked)
SELECT s.repo_id, CAST(s.ended_at / 86400 AS INTEGER), f.rule, count(*) FROM findings f JOIN scores s ON s.n = f.score_n GROUP BY 1, 2, 3
"""
_EVENTS = "INSERT INTO events (score_n, at, kind, text) SELECT n, ended_at, 'done', '' FROM scores WHERE n > (SELECT max(n) FROM scores) - 1000"


def fill(store: Store, count: int, now: float, *, over_days: int = 400) -> None:
    """Add ``count`` ended runs, spread evenly over the last days, to the repositories that the store knows."""
    step = over_days * DAY_S / count
    values = {"count": count, "start": now - over_days * DAY_S, "step": step, "policy": hashlib.sha256(b"seed").hexdigest()}
    with store.write() as c:
        for statement in (_SCORES, _FINDINGS, _DAYS, _REASONS, _EVENTS):
            c.exec_driver_sql(statement, values if statement is _SCORES else ())
