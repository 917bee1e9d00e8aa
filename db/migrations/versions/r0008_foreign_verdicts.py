"""Table of what other harnesses have said."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "foreign_verdicts",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("harness", sa.String(32), nullable=False),
        sa.Column("submission", sa.Text, nullable=False),
        sa.Column("author", sa.Text),
        sa.Column("level", sa.Integer, nullable=False),
        sa.Column("problem_number", sa.Integer, nullable=False),
        sa.Column("sample_id", sa.BigInteger, nullable=False),
        sa.Column("compiled", sa.Integer, nullable=False),
        sa.Column("correct", sa.Integer, nullable=False),
        sa.Column("runtime_ms", sa.Double),
        sa.Column("source_sha256", sa.String(64)),
        sa.Column("details", sa.Text, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("imported_at", sa.String(32), nullable=False),
        sa.CheckConstraint("compiled IN (0, 1)", name=op.f("ck_foreign_verdicts_compiled")),
        sa.CheckConstraint("correct IN (0, 1) AND correct <= compiled", name=op.f("ck_foreign_verdicts_correct")),
        sa.CheckConstraint("runtime_ms IS NULL OR (runtime_ms > 0 AND runtime_ms < 1e300)", name=op.f("ck_foreign_verdicts_runtime")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_foreign_verdicts")),
        sa.UniqueConstraint("digest", name=op.f("uq_foreign_verdicts_digest")),
    )
    op.create_index("ix_foreign_verdicts_submission", "foreign_verdicts", ["submission"], postgresql_using="hash")
