"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_NEWEST_FIRST = (
    "flaky",
    "owners",
    "leases",
    "reason_days",
    "verdict_days",
    "publications",
    "events",
    "evidence",
    "findings",
    "scores",
    "repositories",
    "sessions",
    "tokens",
    "deliveries",
    "audit",
)
_BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make every table."""
    _people()
    _scores()
    _of_a_score()
    _of_a_repository()


def downgrade() -> None:
    """Drop every table."""
    for name in _NEWEST_FIRST:
        op.drop_table(name)


def _people() -> None:
    op.create_table(
        "audit",
        sa.Column("n", _BIG, autoincrement=True, nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("who", sa.String(length=200), nullable=False),
        sa.Column("what", sa.String(length=60), nullable=False),
        sa.Column("repo", sa.String(length=200), nullable=False),
        sa.Column("target", sa.String(length=300), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("outcome", sa.String(length=20), nullable=False),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_audit")),
    )
    op.create_index("ix_audit_at", "audit", ["at"])
    op.create_table(
        "deliveries",
        sa.Column("id", sa.String(length=120), nullable=False),
        sa.Column("repo", sa.String(length=200), nullable=False),
        sa.Column("event", sa.String(length=60), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("outcome", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
    )
    op.create_index("ix_deliveries_at", "deliveries", ["at"])
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=20), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.String(length=60), nullable=False),
        sa.Column("repos", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.Column("revoked_at", sa.Float(), nullable=True),
        sa.Column("used_at", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("digest", name=op.f("uq_tokens_digest")),
    )
    op.create_table(
        "sessions",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("token_id", sa.String(length=20), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_sessions")),
    )


def _scores() -> None:
    op.create_table(
        "repositories",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("added_at", sa.Float(), nullable=False),
        sa.Column("listed", sa.Boolean(), nullable=False),
        sa.Column("oracle", sa.String(length=64), server_default="", nullable=False),
        sa.Column("pictured", sa.String(length=64), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_repositories")),
        sa.UniqueConstraint("name", name=op.f("uq_repositories_name")),
    )
    op.create_table(
        "scores",
        sa.Column("n", _BIG, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("repo_id", sa.Integer(), nullable=False),
        sa.Column("base", sa.String(length=64), nullable=False),
        sa.Column("head", sa.String(length=64), nullable=False),
        sa.Column("policy", sa.String(length=64), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("ref", sa.String(length=300), nullable=False),
        sa.Column("source", sa.String(length=40), nullable=False),
        sa.Column("asked_by", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("queued_at", sa.Float(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=True),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("merge", sa.Boolean(), nullable=True),
        sa.Column("src_score", sa.String(length=8), nullable=True),
        sa.Column("oracle_integrity", sa.String(length=8), nullable=True),
        sa.Column("flake_lease", sa.String(length=8), nullable=True),
        sa.Column("cause", sa.String(length=20), server_default="", nullable=False),
        sa.Column("problem", sa.Text(), server_default="", nullable=False),
        sa.Column("kind", sa.String(length=10), server_default="", nullable=False),
        sa.Column("replay_key", sa.String(length=64), server_default="", nullable=False),
        sa.Column("isolation", sa.String(length=20), server_default="", nullable=False),
        sa.Column("wall", sa.String(length=40), server_default="", nullable=False),
        sa.Column("duration_s", sa.Float(), nullable=True),
        sa.Column("log_index", _BIG, nullable=True),
        sa.ForeignKeyConstraint(["repo_id"], ["repositories.id"]),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_scores")),
        sa.UniqueConstraint("id", name=op.f("uq_scores_id")),
        sa.UniqueConstraint("repo_id", "base", "head", "policy", "attempt", name=op.f("uq_scores_repo_id_base_head_policy_attempt")),
    )
    op.create_index("ix_scores_ended_at", "scores", ["ended_at"])
    op.create_index("ix_scores_head_n", "scores", ["head", "n"])
    op.create_index("ix_scores_merge_n", "scores", ["merge", "n"])
    op.create_index("ix_scores_repo_merge_n", "scores", ["repo_id", "merge", "n"])
    op.create_index("ix_scores_repo_n", "scores", ["repo_id", "n"])
    op.create_index("ix_scores_repo_ref_n", "scores", ["repo_id", "ref", "n"])
    op.create_index("ix_scores_state_n", "scores", ["state", "n"])


def _of_a_score() -> None:
    op.create_table(
        "findings",
        sa.Column("score_n", _BIG, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("leg", sa.String(length=20), nullable=False),
        sa.Column("rule", sa.String(length=20), nullable=False),
        sa.Column("level", sa.String(length=10), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=True),
        sa.Column("line", sa.Integer(), nullable=True),
        sa.Column("next", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["score_n"], ["scores.n"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("score_n", "position", name=op.f("pk_findings")),
    )
    op.create_index("ix_findings_rule_score_n", "findings", ["rule", "score_n"])
    op.create_table(
        "evidence",
        sa.Column("score_n", _BIG, nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("size_b", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["score_n"], ["scores.n"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("score_n", "name", name=op.f("pk_evidence")),
    )
    op.create_table(
        "events",
        sa.Column("n", _BIG, autoincrement=True, nullable=False),
        sa.Column("score_n", _BIG, nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["score_n"], ["scores.n"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_events")),
    )
    op.create_index("ix_events_score_n_n", "events", ["score_n", "n"])
    op.create_table(
        "publications",
        sa.Column("score_n", _BIG, nullable=False),
        sa.Column("target", sa.String(length=60), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("outcome", sa.String(length=200), nullable=False),
        sa.ForeignKeyConstraint(["score_n"], ["scores.n"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("score_n", "target", name=op.f("pk_publications")),
    )


def _of_a_repository() -> None:
    op.create_table(
        "verdict_days",
        sa.Column("repo_id", sa.Integer(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("merged", sa.Integer(), nullable=False),
        sa.Column("blocked", sa.Integer(), nullable=False),
        sa.Column("undecided", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["repo_id"], ["repositories.id"]),
        sa.PrimaryKeyConstraint("repo_id", "day", name=op.f("pk_verdict_days")),
    )
    op.create_index("ix_verdict_days_day", "verdict_days", ["day"])
    op.create_table(
        "reason_days",
        sa.Column("repo_id", sa.Integer(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("rule", sa.String(length=20), nullable=False),
        sa.Column("blocked", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["repo_id"], ["repositories.id"]),
        sa.PrimaryKeyConstraint("repo_id", "day", "rule", name=op.f("pk_reason_days")),
    )
    op.create_index("ix_reason_days_day", "reason_days", ["day"])
    op.create_table(
        "leases",
        sa.Column("repo_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("qualname", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("signature", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.Float(), nullable=False),
        sa.Column("first_seen_at", sa.Float(), nullable=False),
        sa.Column("base", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["repo_id"], ["repositories.id"]),
        sa.PrimaryKeyConstraint("repo_id", "position", name=op.f("pk_leases")),
    )
    op.create_table(
        "owners",
        sa.Column("repo_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("pattern", sa.Text(), nullable=False),
        sa.Column("names", sa.Text(), nullable=False),
        sa.Column("base", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["repo_id"], ["repositories.id"]),
        sa.PrimaryKeyConstraint("repo_id", "position", name=op.f("pk_owners")),
    )
    op.create_table(
        "flaky",
        sa.Column("repo_id", sa.Integer(), nullable=False),
        sa.Column("test", sa.String(length=500), nullable=False),
        sa.Column("seen", sa.Integer(), nullable=False),
        sa.Column("first_at", sa.Float(), nullable=False),
        sa.Column("last_at", sa.Float(), nullable=False),
        sa.Column("last_score", sa.String(length=40), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["repo_id"], ["repositories.id"]),
        sa.PrimaryKeyConstraint("repo_id", "test", name=op.f("pk_flaky")),
    )
