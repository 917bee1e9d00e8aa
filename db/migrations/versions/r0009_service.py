"""Tables of the service: requests, the problems that came with them, tokens and usage."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_OPEN = "state IN ('queued', 'claimed')"


def upgrade() -> None:
    op.create_table(
        "inline_references",
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.CheckConstraint("length(sha256) = 64", name=op.f("ck_inline_references_sha256")),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_inline_references")),
    )
    op.create_table(
        "requests",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("public_id", sa.String(32), nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("idempotency_key", sa.String(200)),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("reference_sha256", sa.String(64)),
        sa.Column("sample_id", sa.BigInteger),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("body", sa.Text),
        sa.Column("due_at", sa.String(32)),
        sa.Column("owner", sa.String(80)),
        sa.Column("stage", sa.String(32)),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("accepted_at", sa.String(32), nullable=False),
        sa.Column("finished_at", sa.String(32)),
        sa.Column("evaluation_id", sa.Integer),
        sa.CheckConstraint("state IN ('queued', 'claimed', 'done', 'cancelled')", name=op.f("ck_requests_state")),
        sa.CheckConstraint("(state = 'claimed') = (owner IS NOT NULL)", name=op.f("ck_requests_owned")),
        sa.CheckConstraint("(state = 'done') = (evaluation_id IS NOT NULL)", name=op.f("ck_requests_one_result")),
        sa.CheckConstraint(f"({_OPEN}) = (body IS NOT NULL)", name=op.f("ck_requests_body")),
        sa.CheckConstraint(f"({_OPEN}) = (due_at IS NOT NULL)", name=op.f("ck_requests_due")),
        sa.CheckConstraint(f"({_OPEN}) = (finished_at IS NULL)", name=op.f("ck_requests_finished")),
        sa.CheckConstraint("attempts >= 0", name=op.f("ck_requests_attempts")),
        sa.ForeignKeyConstraint(["reference_sha256"], ["inline_references.sha256"], name=op.f("fk_requests_reference_sha256")),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_requests_evaluation_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_requests")),
        sa.UniqueConstraint("public_id", name=op.f("uq_requests_public_id")),
        sa.UniqueConstraint("author", "idempotency_key", name=op.f("uq_requests_author_idempotency_key")),
        sa.UniqueConstraint("evaluation_id", name=op.f("uq_requests_evaluation_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_requests_open", "requests", ["state", "id"], sqlite_where=sa.text(_OPEN), postgresql_where=sa.text(_OPEN))
    op.create_table(
        "tokens",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("public_id", sa.String(16), nullable=False),
        sa.Column("secret_sha256", sa.String(64), nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("scopes", sa.String(80), nullable=False),
        sa.Column("per_day", sa.BigInteger),
        sa.Column("per_minute", sa.Integer),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("revoked_at", sa.String(32)),
        sa.CheckConstraint("length(secret_sha256) = 64", name=op.f("ck_tokens_secret")),
        sa.CheckConstraint("per_day >= 0", name=op.f("ck_tokens_quota")),
        sa.CheckConstraint("per_minute >= 1", name=op.f("ck_tokens_rate")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("public_id", name=op.f("uq_tokens_public_id")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "usage",
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.CheckConstraint("count >= 0", name=op.f("ck_usage_count")),
        sa.PrimaryKeyConstraint("author", "day", name=op.f("pk_usage")),
    )
