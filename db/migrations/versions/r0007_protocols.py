"""How evaluations of a board were timed, where that is not the device's default."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("boards", sa.Column("protocol", sa.Text))
