"""Updates the derived values with each save: current and ranked evaluations, standings, tallies and totals.

An evaluation affects only its own submission, its author's copies of the same source, and its author's best on the board. So a save
queries only these, and costs the same in a database of a million evaluations as in an empty one.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, func, insert, select, update

from db.schema.models import BoardRow, EvaluationRow, StandingRow, SubmissionRow, TallyRow, TotalRow
from db.storage.current import current_evaluations
from db.storage.dimensions import upsert
from evaluator.results.category import Category

TallyKey = tuple[int, int, str]
"""Board, author and category."""
_OK = Category.OK.value


def refresh(connection: Connection, names: Collection[str], tallies: dict[TallyKey, int]) -> set[tuple[int, int]]:
    """Update the flags of all evaluations of the submissions `names`.

    Adds the changes of the tallies to `tallies`. Returns the boards and authors whose best may have changed.
    """
    row = EvaluationRow
    given = SubmissionRow.name.in_(names)
    current = set(connection.execute(select(current_evaluations(given).c.id)).scalars())
    columns = (row.id, row.is_current, row.board_id, row.author_id, row.source_id, row.category)
    known: Sequence[Any] = connection.execute(
        select(*columns).join(SubmissionRow, SubmissionRow.id == row.submission_id).where(given)
    ).all()
    changed: list[Any] = [item for item in known if item.is_current != (item.id in current)]
    if changed:
        # The table's own rule: only current evaluations are ranked.
        for flag in (False, True):
            ids = [item.id for item in changed if item.is_current is not flag]
            _set(connection, ids, {"is_current": True} if flag else {"is_current": False, "is_ranked": False})
    for item in changed:
        tallies[item.board_id, item.author_id, item.category] += -1 if item.is_current else 1
    return _rank(connection, {(item.source_id, item.board_id, item.author_id) for item in changed if item.category == _OK})


def reassign(connection: Connection, moved: Sequence[Any], author_id: int) -> None:
    """Update the derived values after evaluations got another author.

    moved: the evaluations' rows before, with `board_id`, `author_id`, `source_id`, `category` and `is_current`.
    """
    tallies: dict[TallyKey, int] = defaultdict(int)
    groups = set()
    for item in moved:
        if item.is_current:
            for author, change in ((item.author_id, -1), (author_id, 1)):
                tallies[item.board_id, author, item.category] += change
                if item.category == _OK:
                    groups.add((item.source_id, item.board_id, author))
    count(connection, tallies)
    stand(connection, _rank(connection, groups))
    mark_copies(connection, {source_id for source_id, _, _ in groups})


def demote(connection: Connection, groups: Collection[tuple[int, int, int]]) -> None:
    """Unrank the copies of these groups (source, board and author), because a later one was stored."""
    if groups:
        row = EvaluationRow
        query = select(row.id, row.source_id, row.board_id, row.author_id).where(
            row.source_id.in_({source_id for source_id, _, _ in groups}), row.is_ranked
        )
        _set(connection, [item[0] for item in connection.execute(query) if tuple(item[1:]) in groups], {"is_ranked": False})


def _rank(connection: Connection, groups: Collection[tuple[int, int, int]]) -> set[tuple[int, int]]:
    """Rank the latest of each group of copies (source, board and author). Returns the boards and authors of the groups."""
    if not groups:
        return set()
    row = EvaluationRow
    query = select(row.id, row.is_ranked, row.source_id, row.board_id, row.author_id).where(
        row.source_id.in_({source_id for source_id, _, _ in groups}), row.is_current, row.category == _OK
    )
    latest: dict[tuple[int, int, int], int] = {}
    members: list[Any] = [item for item in connection.execute(query) if tuple(item[2:]) in groups]
    for item in members:
        key = item.source_id, item.board_id, item.author_id
        latest[key] = max(latest.get(key, 0), item.id)
    ranked = set(latest.values())
    _set(connection, [item.id for item in members if item.is_ranked and item.id not in ranked], {"is_ranked": False})
    _set(connection, [item.id for item in members if not item.is_ranked and item.id in ranked], {"is_ranked": True})
    return {(board_id, author_id) for _, board_id, author_id in groups}


def _set(connection: Connection, ids: Sequence[int], values: dict[str, bool]) -> None:
    if ids:
        statement = update(EvaluationRow).where(EvaluationRow.id == bindparam("number")).values(values)
        connection.execute(statement, [{"number": number} for number in ids])


def count(connection: Connection, changes: dict[TallyKey, int]) -> None:
    """Add changes to the tallies and the totals."""
    totals: dict[tuple[int, str], int] = defaultdict(int)
    for (board_id, _, category), change in changes.items():
        totals[board_id, category] += change
    _add(connection, TallyRow, ("board_id", "author_id", "category"), changes)
    _add(connection, TotalRow, ("board_id", "category"), totals)


def _add(connection: Connection, model: type[TallyRow] | type[TotalRow], names: Sequence[str], changes: Mapping[Any, int]) -> None:
    rows: list[dict[str, Any]] = [dict(zip(names, key, strict=True)) | {"count": change} for key, change in changes.items() if change]
    # A new row can only grow. The database checks the inserted values even if the conflict is then resolved.
    grown, shrunk = [row for row in rows if row["count"] > 0], [row for row in rows if row["count"] < 0]
    if grown:
        statement = upsert(connection, model)
        connection.execute(
            statement.on_conflict_do_update(index_elements=list(names), set_={"count": model.count + statement.excluded.count}), grown
        )
    if shrunk:
        where = [getattr(model, name) == bindparam(f"of_{name}") for name in names]
        values = [{f"of_{name}": value for name, value in row.items()} for row in shrunk]
        connection.execute(update(model).where(*where).values(count=model.count + bindparam("of_count")), values)
        connection.execute(delete(model).where(*where, model.count == 0), values)


def stand(connection: Connection, boards: Iterable[tuple[int, int]]) -> None:
    """Find again the best ranked evaluation of each author on each board; each takes one step in an index."""
    row = EvaluationRow
    given = row.board_id == bindparam("board"), row.author_id == bindparam("author"), row.is_ranked
    best = (
        select(row.board_id, row.author_id, row.id, row.speedup, row.speedup_low, row.speedup_high)
        .where(*given)
        .order_by(row.speedup.desc(), row.id)
        .limit(1)
    )
    keys = [{"board": board_id, "author": author_id} for board_id, author_id in boards]
    if not keys:
        return
    columns = ["board_id", "author_id", "evaluation_id", "speedup", "speedup_low", "speedup_high"]
    gone = delete(StandingRow).where(StandingRow.board_id == bindparam("board"), StandingRow.author_id == bindparam("author"))
    connection.execute(gone, keys)
    connection.execute(insert(StandingRow).from_select(columns, best), keys)


def mark_copies(connection: Connection, sources: Collection[int] | None = None) -> None:
    """Mark the boards on which authors share one of these sources, or any."""
    board = BoardRow
    connection.execute(update(board).where(~board.has_copies, board.id.in_(boards_with_copies(sources))).values(has_copies=True))


def boards_with_copies(sources: Collection[int] | None = None) -> Any:
    """Ids of the boards on which ranked evaluations of several authors have the same source, of these or of all."""
    row = EvaluationRow
    given = [row.is_ranked] if sources is None else [row.is_ranked, row.source_id.in_(sources)]
    return select(row.board_id).where(*given).group_by(row.board_id, row.source_id).having(func.count() > 1)


def rebuild(connection: Connection) -> None:
    """Derive everything from the evaluations again, ignoring the stored derived values."""
    row = EvaluationRow
    connection.execute(update(row).values(is_current=False, is_ranked=False))
    current = current_evaluations()
    connection.execute(update(row).where(row.id.in_(select(current.c.id))).values(is_current=True))
    latest = select(func.max(row.id)).where(row.is_current, row.category == _OK).group_by(row.source_id, row.board_id, row.author_id)
    connection.execute(update(row).where(row.id.in_(latest)).values(is_ranked=True))
    mark_copies(connection)
    connection.execute(delete(TallyRow))
    connection.execute(insert(TallyRow).from_select(["board_id", "author_id", "category", "count"], expected_tallies()))
    connection.execute(delete(TotalRow))
    connection.execute(insert(TotalRow).from_select(["board_id", "category", "count"], expected_totals()))
    connection.execute(delete(StandingRow))
    columns = ["board_id", "author_id", "evaluation_id", "speedup", "speedup_low", "speedup_high"]
    connection.execute(insert(StandingRow).from_select(columns, expected_standings()))


def expected_tallies() -> Any:
    """Rows of `tallies` as they should be."""
    row = EvaluationRow
    grouped = (row.board_id, row.author_id, row.category)
    return select(*grouped, func.count().label("count")).where(row.is_current).group_by(*grouped)


def expected_totals() -> Any:
    """Rows of `totals` as they should be."""
    row = EvaluationRow
    grouped = (row.board_id, row.category)
    return select(*grouped, func.count().label("count")).where(row.is_current).group_by(*grouped)


def expected_standings() -> Any:
    """Rows of `standings` as they should be."""
    row = EvaluationRow
    place = func.row_number().over(partition_by=[row.board_id, row.author_id], order_by=[row.speedup.desc(), row.id]).label("place")
    columns = (row.board_id, row.author_id, row.id.label("evaluation_id"), row.speedup, row.speedup_low, row.speedup_high)
    placed = select(*columns, place).where(row.is_ranked).subquery()
    return select(*(column for column in placed.c if column.name != "place")).where(and_(placed.c.place == 1))
