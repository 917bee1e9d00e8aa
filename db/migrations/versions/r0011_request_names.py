"""A name for what the service accepted, and an index by which an author's requests are listed."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("requests", sa.Column("name", sa.Text, nullable=True))
    op.create_index("ix_requests_author", "requests", ["author", "id"])
