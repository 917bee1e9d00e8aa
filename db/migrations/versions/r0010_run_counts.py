"""What belongs to a run and is not among its evaluations."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    check = sa.CheckConstraint("skipped >= 0", name=op.f("ck_runs_skipped"))
    op.add_column("runs", sa.Column("skipped", sa.BigInteger, check, nullable=False, server_default=sa.text("0")))
