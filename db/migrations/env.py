"""Alembic's entry: runs the revisions on the connection that `db.upgrade` hands over, inside its transaction."""

from alembic import context

from db.schema import evidence_models, queue_models  # noqa: F401 - their tables belong to the metadata
from db.schema.models import Base

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Base.metadata)
with context.begin_transaction():
    context.run_migrations()
