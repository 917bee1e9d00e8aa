"""Alembic's entry: runs the revisions on the connection from `db.upgrade`, inside its transaction."""

from typing import Any

from alembic import context

from db.schema import evidence_models, queue_models  # noqa: F401 - their tables belong to the metadata
from db.schema.models import Base


def _tell(*_places: Any, **_names: Any) -> None:
    context.config.attributes["tell"](1)


connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Base.metadata, on_version_apply=_tell)
with context.begin_transaction():
    context.run_migrations()
