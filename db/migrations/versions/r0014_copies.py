"""Mark of the boards on which authors share a source."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    column = sa.Column("has_copies", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("boards", column)
