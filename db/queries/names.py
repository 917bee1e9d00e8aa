"""Checks that the names in filters exist; a message about a mistyped one suggests similar names."""

from typing import Any

from sqlalchemy import Connection, select

from db.error import StoreError
from db.queries.filters import COLUMNS, Filters
from db.queries.ranking import author_id
from db.schema.evidence_models import WorkloadRow
from db.schema.models import AuthorRow, BoardRow, RunRow
from db.store import Store
from evaluator.results.nearest import unknown
from evaluator.results.protocol_names import DESCRIPTIONS

_MOST_NAMES = 20_000
"""Maximum names compared with a mistyped one, or listed."""


def require_known(store: Store, filters: Filters) -> None:
    """Raise StoreError for the first name that the database doesn't hold."""
    given = filters.columns()
    with store.read() as connection:
        for kind, column in COLUMNS.items():
            if column in given and not (kind == "case" and _is_workload(connection, given[column])):
                _require(connection, store, kind, getattr(BoardRow, column), given[column])
        if filters.author is not None:
            require_author(connection, store, filters.author)
        if filters.protocol is not None and filters.protocol not in DESCRIPTIONS:
            _require(connection, store, "protocol", BoardRow.protocol, filters.protocol, *DESCRIPTIONS)


def _is_workload(connection: Connection, name: str) -> bool:
    return connection.execute(select(WorkloadRow.case).where(WorkloadRow.case == name).limit(1)).first() is not None


def require_author(connection: Connection, store: Store, name: str) -> int:
    """The author's id. Raises StoreError for an unknown author."""
    found = author_id(connection, name)
    if found is None:
        raise _missing(connection, store, "author", AuthorRow.name, name)
    return found


def known_names(store: Store, kind: str) -> set[str]:
    """The first names of a kind, `author` or a filter in `COLUMNS`. Raises StoreError."""
    with store.read() as connection:
        return _known(connection, AuthorRow.name if kind == "author" else getattr(BoardRow, COLUMNS[kind]))


def run_number(store: Store, text: str) -> int:
    """The run with this number, or the last one for `last`. Raises StoreError if there is no such run."""
    with store.read() as connection:
        query = select(RunRow.id)
        last = connection.execute(query.order_by(RunRow.id.desc()).limit(1)).scalar()
        if text == "last" and last is not None:
            return int(last)
        # A column can't hold a longer number.
        if text.isdecimal() and len(text) < 19 and connection.execute(query.where(RunRow.id == int(text))).scalar() is not None:
            return int(text)
    raise StoreError(f"{store.name}: no run {text!r}; {'there is none' if last is None else f'the last one is {last}'}")


def _require(connection: Connection, store: Store, kind: str, column: Any, name: str, *more: str) -> None:
    if connection.execute(select(column).where(column == name).limit(1)).first() is None:
        raise _missing(connection, store, kind, column, name, *more)


def _missing(connection: Connection, store: Store, kind: str, column: Any, name: str, *more: str) -> StoreError:
    return StoreError(f"{store.name}: {unknown(kind, name, _known(connection, column).union(more))}")


def _known(connection: Connection, column: Any) -> set[str]:
    return {*filter(None, connection.execute(select(column).where(column.is_not(None)).distinct().limit(_MOST_NAMES)).scalars())}
