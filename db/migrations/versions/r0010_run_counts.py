"""What belongs to a run and is not among its evaluations."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("skipped", "replaced"):
        check = sa.CheckConstraint(f"{name} >= 0", name=op.f(f"ck_runs_{name}"))
        op.add_column("runs", sa.Column(name, sa.BigInteger, check, nullable=False, server_default=sa.text("0")))
