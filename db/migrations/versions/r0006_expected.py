"""The number of evaluations a run expects."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("expected", sa.BigInteger, sa.CheckConstraint("expected >= 0", name=op.f("ck_runs_expected"))))
