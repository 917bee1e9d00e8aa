"""Table of what training runs say of their requests: step, prompt and tags."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "origins",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("request_id", sa.Integer),
        sa.Column("evaluation_id", sa.Integer),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("step", sa.BigInteger),
        sa.Column("prompt", sa.Text),
        sa.Column("tags", sa.JSON, nullable=False),
        sa.CheckConstraint("length(sha256) = 64", name=op.f("ck_origins_sha256")),
        sa.CheckConstraint("step >= 0", name=op.f("ck_origins_step")),
        sa.CheckConstraint("request_id IS NOT NULL OR evaluation_id IS NOT NULL", name=op.f("ck_origins_of")),
        sa.ForeignKeyConstraint(["request_id"], ["requests.id"], name=op.f("fk_origins_request_id")),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_origins_evaluation_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_origins")),
        sa.UniqueConstraint("request_id", "sha256", name=op.f("uq_origins_request_id_sha256")),
        sa.UniqueConstraint("evaluation_id", "sha256", name=op.f("uq_origins_evaluation_id_sha256")),
    )
    op.create_index("ix_origins_step", "origins", ["step"])
