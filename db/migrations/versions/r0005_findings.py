"""Table of what compute-sanitizer found."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "findings",
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("tool", sa.Text),
        sa.Column("severity", sa.Text),
        sa.Column("message", sa.Text),
        sa.Column("count", sa.BigInteger),
        sa.Column("kernel", sa.Text),
        sa.Column("own", sa.Integer, nullable=False),
        sa.Column("file", sa.Text),
        sa.Column("line", sa.BigInteger),
        sa.Column("source_line", sa.BigInteger),
        sa.Column("more", sa.Text),
        sa.Column("evaluation_id", sa.Integer, nullable=False),
        sa.CheckConstraint("own IN (0, 1)", name=op.f("ck_findings_own")),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_findings_evaluation_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("position", "evaluation_id", name=op.f("pk_findings")),
    )
