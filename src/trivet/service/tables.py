"""The tables of the service's store, for SQLAlchemy Core: one schema for SQLite and PostgreSQL.

Times are seconds since the epoch, days are whole days since the epoch (UTC). ``scores.n`` grows with each score and is the key by which
pages are cut; ``scores.id`` is the name that the outside sees and cannot be guessed.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_Big = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up by itself in INTEGER alone

repositories = Table(
    "repositories",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("added_at", Float, nullable=False),
    Column("listed", Boolean, nullable=False),
    Column("oracle", String(64), nullable=False, server_default=""),
    Column("pictured", String(64), nullable=False, server_default=""),
)
"""What ``service.toml`` names or once named; ``listed`` is false when it does no more. ``oracle``: the newest
known commit of its private oracle repository; ``pictured``: the base whose leases and owners are shown."""

scores = Table(
    "scores",
    metadata,
    Column("n", _Big, primary_key=True, autoincrement=True),
    Column("id", String(40), nullable=False, unique=True),
    Column("repo_id", ForeignKey("repositories.id"), nullable=False),
    Column("base", String(64), nullable=False),
    Column("head", String(64), nullable=False),
    Column("policy", String(64), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("ref", String(300), nullable=False),
    Column("source", String(40), nullable=False),
    Column("asked_by", String(200), nullable=False),
    Column("state", String(20), nullable=False),
    Column("queued_at", Float, nullable=False),
    Column("started_at", Float),
    Column("ended_at", Float),
    Column("merge", Boolean),
    Column("src_score", String(8)),
    Column("oracle_integrity", String(8)),
    Column("flake_lease", String(8)),
    Column("cause", String(20), nullable=False, server_default=""),
    Column("problem", Text, nullable=False, server_default=""),
    Column("kind", String(10), nullable=False, server_default=""),
    Column("replay_key", String(64), nullable=False, server_default=""),
    Column("isolation", String(20), nullable=False, server_default=""),
    Column("wall", String(40), nullable=False, server_default=""),
    Column("duration_s", Float),
    Column("log_index", _Big),
    UniqueConstraint("repo_id", "base", "head", "policy", "attempt"),
    Index("ix_scores_repo_n", "repo_id", "n"),
    Index("ix_scores_repo_ref_n", "repo_id", "ref", "n"),
    Index("ix_scores_state_n", "state", "n"),
    Index("ix_scores_repo_merge_n", "repo_id", "merge", "n"),
    Index("ix_scores_merge_n", "merge", "n"),
    Index("ix_scores_ended_at", "ended_at"),
    Index("ix_scores_head_n", "head", "n"),
)

findings = Table(
    "findings",
    metadata,
    Column("score_n", ForeignKey("scores.n", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("leg", String(20), nullable=False),
    Column("rule", String(20), nullable=False),
    Column("level", String(10), nullable=False),
    Column("message", Text, nullable=False),
    Column("path", Text),
    Column("line", Integer),
    Column("next", Text, nullable=False),
    Index("ix_findings_rule_score_n", "rule", "score_n"),
)

evidence = Table(
    "evidence",
    metadata,
    Column("score_n", ForeignKey("scores.n", ondelete="CASCADE"), primary_key=True),
    Column("name", String(60), primary_key=True),
    Column("size_b", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
)
"""The files of a verdict as the command wrote them, compressed with zlib. Here and not in a folder: workers may run on many machines."""

events = Table(
    "events",
    metadata,
    Column("n", _Big, primary_key=True, autoincrement=True),
    Column("score_n", ForeignKey("scores.n", ondelete="CASCADE"), nullable=False),
    Column("at", Float, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("text", Text, nullable=False),
    Index("ix_events_score_n_n", "score_n", "n"),
)

verdict_days = Table(
    "verdict_days",
    metadata,
    Column("repo_id", ForeignKey("repositories.id"), primary_key=True),
    Column("day", Integer, primary_key=True),
    Column("merged", Integer, nullable=False),
    Column("blocked", Integer, nullable=False),
    Column("undecided", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Index("ix_verdict_days_day", "day"),
)
"""Counts that a page over a million verdicts needs; written in the transaction that ends a score."""

reason_days = Table(
    "reason_days",
    metadata,
    Column("repo_id", ForeignKey("repositories.id"), primary_key=True),
    Column("day", Integer, primary_key=True),
    Column("rule", String(20), primary_key=True),
    Column("blocked", Integer, nullable=False),
    Index("ix_reason_days_day", "day"),
)

leases = Table(
    "leases",
    metadata,
    Column("repo_id", ForeignKey("repositories.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("qualname", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("signature", Text, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("first_seen_at", Float, nullable=False),
    Column("base", String(64), nullable=False),
)
"""The ledger of the newest base that was judged; replaced as a whole."""

owners = Table(
    "owners",
    metadata,
    Column("repo_id", ForeignKey("repositories.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("pattern", Text, nullable=False),
    Column("names", Text, nullable=False),
    Column("base", String(64), nullable=False),
)

flaky = Table(
    "flaky",
    metadata,
    Column("repo_id", ForeignKey("repositories.id"), primary_key=True),
    Column("test", String(500), primary_key=True),
    Column("seen", Integer, nullable=False),
    Column("first_at", Float, nullable=False),
    Column("last_at", Float, nullable=False),
    Column("last_score", String(40), nullable=False),
    Column("why", Text, nullable=False),
)
"""Sealed tests that gave different outcomes for one tree, or that a lease let through."""

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(20), primary_key=True),
    Column("name", String(200), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("scopes", String(60), nullable=False),
    Column("repos", Text, nullable=False),
    Column("made_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("revoked_at", Float),
    Column("used_at", Float),
)
"""Tokens by SHA-256 alone. ``scopes`` and ``repos`` are separated by blanks; ``*`` is every repository."""

sessions = Table(
    "sessions",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("token_id", ForeignKey("tokens.id", ondelete="CASCADE"), nullable=False),
    Column("expires_at", Float, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("n", _Big, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False),
    Column("who", String(200), nullable=False),
    Column("what", String(60), nullable=False),
    Column("repo", String(200), nullable=False),
    Column("target", String(300), nullable=False),
    Column("address", String(64), nullable=False),
    Column("outcome", String(20), nullable=False),
    Index("ix_audit_at", "at"),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", String(120), primary_key=True),
    Column("repo", String(200), nullable=False),
    Column("event", String(60), nullable=False),
    Column("at", Float, nullable=False),
    Column("outcome", String(200), nullable=False),
    Index("ix_deliveries_at", "at"),
)
"""Webhook deliveries by ``provider:id``: the second of one id changes nothing."""

publications = Table(
    "publications",
    metadata,
    Column("score_n", ForeignKey("scores.n", ondelete="CASCADE"), primary_key=True),
    Column("target", String(60), primary_key=True),
    Column("at", Float, nullable=False),
    Column("outcome", String(200), nullable=False),
)
