"""Whether the names that filters ask for exist: a mistyped one is told, with those that look like it."""

from typing import Any

from sqlalchemy import Connection, select

from db.error import StoreError
from db.queries.filters import COLUMNS, Filters
from db.queries.ranking import author_id
from db.schema.models import AuthorRow, BoardRow, RunRow
from db.store import Store
from evaluator.results.nearest import unknown
from evaluator.results.protocol_names import DESCRIPTIONS

_MOST_NAMES = 20_000
"""Names that a mistyped one is compared with."""


def require_known(store: Store, filters: Filters) -> None:
    """Raises StoreError for the first name that the database doesn't hold."""
    given = filters.columns()
    with store.read() as connection:
        for kind, column in COLUMNS.items():
            if column in given:
                _require(connection, store, kind, getattr(BoardRow, column), given[column])
        if filters.author is not None:
            require_author(connection, store, filters.author)
        if filters.protocol is not None and filters.protocol not in DESCRIPTIONS:
            _require(connection, store, "protocol", BoardRow.protocol, filters.protocol, *DESCRIPTIONS)


def require_author(connection: Connection, store: Store, name: str) -> int:
    """The author's id. Raises StoreError for an author whom the database doesn't hold."""
    found = author_id(connection, name)
    if found is None:
        raise _missing(connection, store, "author", AuthorRow.name, name)
    return found


def run_number(store: Store, text: str) -> int:
    """The run that is meant by its number or by `last`. Raises StoreError where there is no such run."""
    with store.read() as connection:
        query = select(RunRow.id)
        last = connection.execute(query.order_by(RunRow.id.desc()).limit(1)).scalar()
        if text == "last" and last is not None:
            return int(last)
        # A longer number is none that a column holds.
        if text.isdecimal() and len(text) < 19 and connection.execute(query.where(RunRow.id == int(text))).scalar() is not None:
            return int(text)
    raise StoreError(f"{store.name}: no run {text!r}; {'there is none' if last is None else f'the last one is {last}'}")


def _require(connection: Connection, store: Store, kind: str, column: Any, name: str, *more: str) -> None:
    if connection.execute(select(column).where(column == name).limit(1)).first() is None:
        raise _missing(connection, store, kind, column, name, *more)


def _missing(connection: Connection, store: Store, kind: str, column: Any, name: str, *more: str) -> StoreError:
    known = connection.execute(select(column).where(column.is_not(None)).distinct().limit(_MOST_NAMES)).scalars()
    return StoreError(f"{store.name}: {unknown(kind, name, {*filter(None, known), *more})}")
