"""Boards that count, and their rankings.

Only the newest version of a problem counts, which is the version that was evaluated last, wherever. An author stands with the best of
the current `ok` evaluations, copies of one source counting once with their latest time, so that handing in copies can't pick the
luckiest. What came without an author stands for itself.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import Connection, func, select

from db.queries.filters import Filters
from db.schema.models import AuthorRow, BoardRow, EvaluationRow, StandingRow
from db.storage.rows import text_sha256
from evaluator.results.protocol_names import alternative

EVERYTHING = Filters()
_MANY = 5000
"""Ids that are put into one statement."""


@dataclass(frozen=True, slots=True)
class KnownBoard:
    """A row of `boards` whose problem is known."""

    id: int
    problem: str
    problem_sha256: str
    case: str | None
    device_name: str
    precision: str | None
    protocol: str | None = None


@dataclass(frozen=True, slots=True)
class RankedEvaluation:
    """One rank of a board."""

    rank: int
    board_id: int
    author_id: int
    evaluation_id: int
    speedup: float
    speedup_low: float
    speedup_high: float


def fits(filters: Filters, board: KnownBoard) -> bool:
    """Whether a board passes. The author has no part in this."""
    if board.protocol != alternative(filters.protocol):
        return False
    return all(getattr(board, column) == value for column, value in filters.columns().items())


def newest_boards(connection: Connection, filters: Filters = EVERYTHING) -> list[KnownBoard]:
    """Boards of the newest version of each problem that fit, by problem, case, device and precision."""
    last = select(func.max(EvaluationRow.id)).where(EvaluationRow.board_id == BoardRow.id).scalar_subquery()
    columns = (BoardRow.id, BoardRow.problem, BoardRow.problem_sha256, BoardRow.case, BoardRow.device_name, BoardRow.precision)
    query = select(last, *columns, BoardRow.protocol).where(BoardRow.problem_sha256.is_not(None))
    if filters.problem is not None:
        query = query.where(BoardRow.problem == filters.problem)
    newest: dict[str, tuple[int, str]] = {}
    boards = []
    for number, *values in connection.execute(query):
        board = KnownBoard(*values)
        if number is not None:
            newest[board.problem] = max(newest.get(board.problem, (0, "")), (number, board.problem_sha256))
            boards.append(board)
    found = [board for board in boards if newest[board.problem][1] == board.problem_sha256 and fits(filters, board)]
    return sorted(found, key=lambda board: (board.problem, board.case or "", board.device_name, board.precision or ""))


def places(connection: Connection, boards: Collection[KnownBoard], every: bool = False) -> dict[int, list[RankedEvaluation]]:
    """The ranking of each board, by its id, best first: one place an author, or one a submission with `every`."""
    found: dict[int, list[tuple[int, int, int, float, float, float]]] = {board.id: [] for board in boards}
    nobody = author_id(connection, None)
    for ids in chunks(found):
        standing, row = StandingRow, EvaluationRow
        columns = (
            standing.board_id,
            standing.author_id,
            standing.evaluation_id,
            standing.speedup,
            standing.speedup_low,
            standing.speedup_high,
        )
        if not every:
            query = select(*columns).where(standing.board_id.in_(ids))
            if nobody is not None:
                query = query.where(standing.author_id != nobody)
            for item in connection.execute(query):
                found[item[0]].append(item)
        if every or nobody is not None:
            ranked = select(row.board_id, row.author_id, row.id, row.speedup, row.speedup_low, row.speedup_high)
            ranked = ranked.where(row.board_id.in_(ids), row.is_ranked)
            for single in connection.execute(ranked if every else ranked.where(row.author_id == nobody)):
                assert single[3] is not None and single[4] is not None and single[5] is not None
                found[single[0]].append((*single[:3], single[3], single[4], single[5]))
    return {board_id: _ranked(items) for board_id, items in found.items()}


def ranks(intervals: Sequence[tuple[float, float]]) -> list[int]:
    """Ranks from 1 for intervals of speedups, in their order: those that overlap share a rank, and so do those that a chain of them joins.

    The rank is one more than the number of those that are better beyond doubt.
    """
    order = sorted(range(len(intervals)), key=lambda index: -intervals[index][1])
    found = [0] * len(intervals)
    rank, lowest = 1, float("inf")
    for place, index in enumerate(order, 1):
        low, high = intervals[index]
        if high < lowest:
            rank = place
            lowest = low
        found[index] = rank
        lowest = min(lowest, low)
    return found


def author_id(connection: Connection, name: str | None) -> int | None:
    """The id of an author; `name` None stands for submissions without an author. None where there is no such author."""
    return connection.execute(select(AuthorRow.id).where(AuthorRow.sha256 == text_sha256(name))).scalar_one_or_none()


def chunks(ids: Iterable[int]) -> Iterator[list[int]]:
    """The ids, as many at a time as one statement takes."""
    rest = iter(ids)
    while some := list(islice(rest, _MANY)):
        yield some


def _ranked(items: list[tuple[int, int, int, float, float, float]]) -> list[RankedEvaluation]:
    items.sort(key=lambda item: (-item[3], item[2]))
    numbers = ranks([(item[4], item[5]) for item in items])
    found = [RankedEvaluation(rank, *item) for rank, item in zip(numbers, items, strict=True)]
    return sorted(found, key=lambda place: place.rank)
