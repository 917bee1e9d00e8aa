"""What belongs to a run and is not among its evaluations: submissions that had been judged already."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    check = sa.CheckConstraint("skipped >= 0", name=op.f("ck_runs_skipped"))
    op.add_column("runs", sa.Column("skipped", sa.BigInteger, check, nullable=False, server_default=sa.text("0")))
    op.create_table(
        "skips",
        *(sa.Column(f"{name}_id", sa.Integer, nullable=False) for name in ("run", "evaluation")),
        *(sa.ForeignKeyConstraint([f"{name}_id"], [f"{name}s.id"], name=op.f(f"fk_skips_{name}_id")) for name in ("run", "evaluation")),
        sa.PrimaryKeyConstraint("run_id", "evaluation_id", name=op.f("pk_skips")),
    )
