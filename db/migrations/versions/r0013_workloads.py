"""Table of the times in each of several workloads."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "workloads",
        sa.Column("evaluation_id", sa.Integer, nullable=False),
        sa.Column("case", sa.String(64), nullable=False),
        sa.Column("input_bytes", sa.BigInteger),
        sa.Column("runtime_ms", sa.Double, nullable=False),
        sa.Column("baseline_ms", sa.Double, nullable=False),
        sa.Column("speedup", sa.Double, nullable=False),
        sa.Column("speedup_low", sa.Double, nullable=False),
        sa.Column("speedup_high", sa.Double, nullable=False),
        sa.CheckConstraint("runtime_ms > 0 AND baseline_ms > 0 AND speedup > 0", name=op.f("ck_workloads_positive")),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_workloads_evaluation_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("evaluation_id", "case", name=op.f("pk_workloads")),
    )
