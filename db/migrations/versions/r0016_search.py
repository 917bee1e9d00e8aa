"""Texts for a search: messages and names of kernels, and their index in PostgreSQL. SQLite's is made after all revisions."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_WORDS = "to_tsvector('simple', regexp_replace(\"left\"(text, 250000), '[^A-Za-z0-9]+', ' ', 'g'))"


def upgrade() -> None:
    op.create_table(
        "search_texts",
        sa.Column("evaluation_id", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["evaluation_id"], ["evaluations.id"], name=op.f("fk_search_texts_evaluation_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("evaluation_id", name=op.f("pk_search_texts")),
    )
    on_server = op.get_bind().dialect.name == "postgresql"
    kernels = " UNION ".join(
        f"SELECT kernel FROM {table} WHERE evaluation_id = evaluations.id{more}"
        for table, more in (("launches", ""), ("findings", ""), ("profiles", " AND side = 'submission'"))
    )
    joined = f"{'string_agg' if on_server else 'group_concat'}(kernel, '\n')"
    op.execute(
        f"INSERT INTO search_texts SELECT id, message || coalesce((SELECT '\n' || {joined} FROM ({kernels}) AS names), '') FROM evaluations"
    )
    if on_server:
        for table in ("sources", "search_texts"):
            op.create_index(f"ix_{table}_words", table, [sa.text(_WORDS)], postgresql_using="gin")
