"""Facets: how many evaluations each choice of a filter would leave, within the other filters."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import Connection, func, select

from db.queries.filters import COLUMNS, Filters
from db.queries.leaderboard import UNKNOWN, boards_that_pass, current_counts
from db.queries.ranking import EVERYTHING
from db.schema.models import AuthorRow, BoardRow, TallyRow
from db.store import Store

Facets = dict[str, dict[str, int]]
"""Number of evaluations by the filter's name and the choice. Choices that leave none may be missing."""


def failure_facets(store: Store, filters: Filters = EVERYTHING) -> Facets:
    """Facets of the current evaluations, which `failures` counts. Raises StoreError if the database can't be read."""
    with store.read() as connection:
        tally, passing = current_counts(connection, replace(filters, **dict.fromkeys(COLUMNS)))
        counts = connection.execute(select(tally.board_id, func.sum(tally.count)).where(*passing).group_by(tally.board_id))
        found = board_facets(connection, filters, {board: int(count) for board, count in counts})
        by_author = select(AuthorRow.name, func.sum(TallyRow.count)).join(TallyRow, TallyRow.author_id == AuthorRow.id)
        if given := boards_that_pass(filters):
            by_author = by_author.where(TallyRow.board_id.in_(select(BoardRow.id).where(*given)))
        named = connection.execute(by_author.where(AuthorRow.name.is_not(None)).group_by(AuthorRow.name))
        return found | {"author": {str(name): int(count) for name, count in named}}


def board_facets(connection: Connection, filters: Filters, counts: Mapping[int, int]) -> Facets:
    """Facets of the filters on boards. counts: number of evaluations by board, within the filters on anything else."""
    found = {}
    for name, column in COLUMNS.items():
        value = getattr(BoardRow, column)
        numbers: Counter[str | None] = Counter()
        for board, known in connection.execute(select(BoardRow.id, value).where(*boards_that_pass(replace(filters, **{name: None})))):
            numbers[known or None] += counts.get(board, 0)
        unknown = numbers.pop(None, 0) if column in UNKNOWN else 0
        found[name] = {known: number + unknown for known, number in numbers.items() if known is not None}
    return found
