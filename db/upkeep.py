"""Maintains a database: `check` finds faults, `collect` removes unused rows."""

import hashlib
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Select, Subquery, delete, exists, func, or_, select
from sqlalchemy.exc import DatabaseError

from db.error import StoreError
from db.schema.models import (
    AuthorRow,
    Base,
    BoardRow,
    CaseRow,
    EnvironmentRow,
    EvaluationRow,
    ProblemRow,
    RunRow,
    SkipRow,
    SourceRow,
    StandingRow,
    SubmissionRow,
    TallyRow,
    TotalRow,
)
from db.storage import spool
from db.storage.current import current_evaluations
from db.storage.standing import boards_with_copies, expected_standings, expected_tallies, expected_totals, rebuild
from db.store import Store
from evaluator.results.category import Category
from evaluator.results.display.pace import Tell, untold

_SHOWN = 5
"""Examples named per fault."""
COLLECT_STEPS = 9
"""Steps of `collect`: one per table, and freeing the space."""


def check(store: Store, deep: bool = False, tell: Tell = untold) -> list[str]:
    """The faults, one sentence each.

    Checks the file's structure, the references, and whether the derived values match the evaluations. `deep` also
    reads every evaluation, with progress, and hashes every source. Raises StoreError if the database can't be read at all.
    """
    with store.read() as connection:
        # The content of a damaged file is not worth checking.
        damage = list(_structure(connection))
        if damage:
            return damage
        found = [*_flags(connection), *_derived(connection)]
        if deep:
            found += _sources(connection)
    return found + list(_unreadable(store, tell)) if deep else found


def repair(store: Store) -> None:
    """Derive all derived values from the evaluations again. Raises StoreError."""
    with store.change() as connection:
        rebuild(connection)


def collect(store: Store, tell: Tell = untold) -> dict[str, int]:
    """Remove rows that no evaluation refers to, free the space, and update the query planner's statistics.

    Returns the number of removed rows by table; reports each of COLLECT_STEPS. Raises StoreError.
    """
    removed = {}
    with store.change() as connection:
        for model, conditions in _unused():
            removed[model.__tablename__] = connection.execute(delete(model).where(*conditions)).rowcount
            tell(1)
    store.compact()
    tell(1)
    return removed


def waiting(store: Store) -> list[str]:
    """Spool files that wait for the next run."""
    return [str(path) for path in spool.left_behind(store.address)]


def _unused() -> Iterator[tuple[type[Base], list[Any]]]:
    """Conditions for unused rows, in the order of removal."""
    row = EvaluationRow

    def nobody(column: Any, *others: Any) -> list[Any]:
        return [~exists().where(column == own) for own in others]

    yield BoardRow, nobody(row.board_id, BoardRow.id)
    yield SubmissionRow, nobody(row.submission_id, SubmissionRow.id)
    yield AuthorRow, nobody(SubmissionRow.author_id, AuthorRow.id)
    yield SourceRow, nobody(row.source_id, SourceRow.id)
    yield EnvironmentRow, nobody(row.environment_id, EnvironmentRow.id)
    yield RunRow, [*nobody(row.run_id, RunRow.id), *nobody(SkipRow.run_id, RunRow.id), RunRow.finished_at.is_not(None)]
    of_case = (BoardRow.problem == CaseRow.problem, BoardRow.problem_sha256 == CaseRow.problem_sha256, BoardRow.case == CaseRow.name)
    yield CaseRow, [~exists().where(*of_case)]
    yield ProblemRow, [~exists().where(BoardRow.problem == ProblemRow.name, BoardRow.problem_sha256 == ProblemRow.sha256)]


def _structure(connection: Connection) -> Iterator[str]:
    if connection.dialect.name != "sqlite":
        return
    try:
        faults = [text for (text,) in connection.exec_driver_sql(f"PRAGMA integrity_check({_SHOWN})") if text != "ok"]
    except DatabaseError as error:  # the check itself can't go on
        faults = [str(error.orig)]
    yield from (f"the file is damaged: {text}" for text in faults)
    if faults:
        return
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(_SHOWN):
        yield f"row {row} of {table} refers to a row of {parent} that is not there"


def _flags(connection: Connection) -> Iterator[str]:
    row = EvaluationRow
    current = current_evaluations()
    known = select(current.c.id)
    yield from _examples(
        connection,
        "is_current is wrong",
        select(row.id).where(or_(row.is_current & row.id.not_in(known), ~row.is_current & row.id.in_(known))),
    )
    latest = (
        select(func.max(row.id))
        .where(row.is_current, row.category == Category.OK.value)
        .group_by(row.source_id, row.board_id, row.author_id)
    )
    yield from _examples(
        connection,
        "is_ranked is wrong",
        select(row.id).where(or_(row.is_ranked & row.id.not_in(latest), ~row.is_ranked & row.id.in_(latest))),
    )
    unmarked = select(BoardRow.id).where(~BoardRow.has_copies, BoardRow.id.in_(boards_with_copies()))
    yield from _examples(connection, "has_copies is wrong", unmarked, of="board")


def _examples(connection: Connection, what: str, query: Select[Any], of: str = "evaluation") -> Iterator[str]:
    found = connection.execute(query.limit(_SHOWN)).scalars().all()
    if found:
        yield f"{what} for {of} {', '.join(map(str, found))}"


def _derived(connection: Connection) -> Iterator[str]:
    for model, expected in ((TallyRow, expected_tallies()), (TotalRow, expected_totals()), (StandingRow, expected_standings())):
        kept = select(*model.__table__.columns)
        wanted: Subquery = expected.subquery()
        columns = [wanted.c[column.name] for column in model.__table__.columns]
        for what, query in (("misses", select(*columns).except_(kept)), ("should not have", kept.except_(select(*columns)))):
            found = connection.execute(query.limit(_SHOWN)).all()
            if found:
                yield f"{model.__tablename__} {what} {', '.join(str(tuple(item)[:3]) for item in found)}"


def _sources(connection: Connection) -> Iterator[str]:
    for sha256, text in connection.execute(select(SourceRow.sha256, SourceRow.text).where(SourceRow.exact == 1)):
        if hashlib.sha256(text.encode()).hexdigest() != sha256:
            yield f"source {sha256} is not what its hash says"


def _unreadable(store: Store, tell: Tell) -> Iterator[str]:
    with store.read() as connection:
        numbers = connection.execute(select(EvaluationRow.id).order_by(EvaluationRow.id)).scalars().all()
    for number in numbers:
        try:
            store.get(number)
        except StoreError as error:
            yield str(error)
        tell(1)
