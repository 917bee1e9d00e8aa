"""Table of what Nsight Compute measured of kernels."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "profiles",
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("side", sa.String(32), nullable=False),
        sa.Column("kernel", sa.Text),
        sa.Column("own", sa.Integer, nullable=False),
        sa.Column("duration_ms", sa.Double),
        sa.Column("memory_share", sa.Double),
        sa.Column("arithmetic_share", sa.Double),
        sa.Column("occupancy", sa.Double),
        sa.Column("limited_by", sa.Text),
        sa.Column("registers", sa.BigInteger),
        sa.Column("shared_bytes", sa.BigInteger),
        sa.Column("l2_hit_share", sa.Double),
        sa.Column("read_bytes", sa.BigInteger),
        sa.Column("written_bytes", sa.BigInteger),
        sa.Column("instructions", sa.BigInteger),
        sa.Column("more", sa.Text),
        sa.Column("evaluation_id", sa.Integer, nullable=False),
        sa.CheckConstraint("own IN (0, 1)", name=op.f("ck_profiles_own")),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_profiles_evaluation_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("position", "evaluation_id", name=op.f("pk_profiles")),
    )
