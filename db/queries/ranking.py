"""Boards that count, and their rankings.

Only a problem's newest version counts: the version that was evaluated last, on any board. An author is ranked by the best of the current
`ok` evaluations. Identical sources have one result on a board, the latest of any author, and an author's count once: submitting copies
can't pick the luckiest. A submission without an author is ranked by itself.

On request `reduced_precision` is ranked beside `ok`. No derived values exist for that, nor for sources that authors share: boards with
such evaluations are ranked from the evaluations themselves.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import Connection, func, literal, select

from db.queries.filters import Filters
from db.schema.models import AuthorRow, BoardRow, EvaluationRow, StandingRow, TotalRow
from db.storage.rows import text_sha256
from evaluator.results.category import CATEGORIES, Category, Status
from evaluator.results.display.text import natural
from evaluator.results.protocol_names import alternative

EVERYTHING = Filters()
WITH_REDUCED = (Category.OK.value, Category.REDUCED_PRECISION.value)
"""Categories ranked if reduced precision is allowed; otherwise only `ok`."""
UNCOUNTED = tuple(category.value for category, info in CATEGORIES.items() if info.status is Status.NOT_EVALUATED)
"""Categories without a verdict on the submission."""
_MANY = 5000
"""Ids per statement."""


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
    """One place of a board."""

    rank: int
    shared: bool
    """Whether another place of the board has the same rank."""
    board_id: int
    author_id: int
    evaluation_id: int
    speedup: float
    speedup_low: float
    speedup_high: float
    category: str
    """One of WITH_REDUCED."""
    result_id: int
    """The evaluation whose figures these are: the latest of this source on the board."""


_Item = tuple[Any, ...]
"""The fields of a RankedEvaluation after `rank` and `shared`; while its result is not known, without the last."""
_COLUMNS = (
    *(EvaluationRow.board_id, EvaluationRow.author_id, EvaluationRow.id, EvaluationRow.speedup, EvaluationRow.speedup_low),
    *(EvaluationRow.speedup_high, EvaluationRow.category),
)
"""Columns of an _Item."""


def fits(filters: Filters, board: KnownBoard) -> bool:
    """Whether a board passes. The author is ignored."""
    if board.protocol != alternative(filters.protocol):
        return False
    return all(getattr(board, column) == value for column, value in filters.columns().items())


def newest_boards(connection: Connection, filters: Filters = EVERYTHING) -> list[KnownBoard]:
    """Matching boards of each problem's newest version, by problem, case, device and precision."""
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
    return sorted(found, key=lambda board: (natural(board.problem), board.case or "", board.device_name, board.precision or ""))


def judged_on(connection: Connection, boards: Collection[KnownBoard]) -> list[KnownBoard]:
    """The boards with a current evaluation other than `not_evaluated`."""
    total = TotalRow
    found: set[int] = set()
    for ids in chunks(board.id for board in boards):
        found.update(connection.execute(select(total.board_id).where(total.board_id.in_(ids), total.category.not_in(UNCOUNTED))).scalars())
    return [board for board in boards if board.id in found]


def places(
    connection: Connection, boards: Collection[KnownBoard], every: bool = False, *, reduced_precision: bool = False
) -> dict[int, list[RankedEvaluation]]:
    """The ranking of each board, by its id, best first: one place per author, or per submission with `every`.

    `reduced_precision` ranks evaluations of that category too.
    """
    found: dict[int, list[_Item]] = {board.id: [] for board in boards}
    nobody = author_id(connection, None)
    mixed = _boards_with_copies(connection, found)
    categories: Collection[str] = (Category.OK.value,)
    if reduced_precision:
        mixed, categories = mixed | _boards_with_reduced(connection, found), WITH_REDUCED
    for ids in chunks(mixed):
        items = _latest_copies(connection, ids, categories)
        for item in items if every else best_of_authors(items, nobody):
            found[item[0]].append(item)
    for ids in chunks(found.keys() - mixed):
        for item in _kept(connection, ids, every, nobody):
            found[item[0]].append((*item, item[2]))
    return {board_id: ranked(items) for board_id, items in found.items()}


def with_results(items: Iterable[tuple[int, _Item]]) -> list[_Item]:
    """The items, each given with its source, with the figures of the latest with that source on the board, and its id as result."""
    given = list(items)
    latest: dict[tuple[int, int], _Item] = {}
    for source, item in given:
        known = latest.setdefault((item[0], source), item)
        if item[2] > known[2]:
            latest[item[0], source] = item
    results = ((item, latest[item[0], source]) for source, item in given)
    return [(*item[:3], *result[3:7], result[2]) for item, result in results]


def _kept(connection: Connection, board_ids: list[int], every: bool, nobody: int | None) -> Iterator[_Item]:
    """The stored ranked evaluations of these boards. `nobody` is the author id of submissions without an author."""
    standing, row = StandingRow, EvaluationRow
    if not every:
        columns = (standing.speedup, standing.speedup_low, standing.speedup_high)
        query = select(standing.board_id, standing.author_id, standing.evaluation_id, *columns, literal(Category.OK.value))
        query = query.where(standing.board_id.in_(board_ids))
        if nobody is not None:
            query = query.where(standing.author_id != nobody)
        yield from map(tuple, connection.execute(query))
    if every or nobody is not None:
        ranked = select(*_COLUMNS).where(row.board_id.in_(board_ids), row.is_ranked)
        yield from map(tuple, connection.execute(ranked if every else ranked.where(row.author_id == nobody)))


def _boards_with_copies(connection: Connection, board_ids: Iterable[int]) -> set[int]:
    """The boards on which authors share a source."""
    found: set[int] = set()
    for ids in chunks(board_ids):
        found.update(connection.execute(select(BoardRow.id).where(BoardRow.id.in_(ids), BoardRow.has_copies)).scalars())
    return found


def _boards_with_reduced(connection: Connection, board_ids: Iterable[int]) -> set[int]:
    """The boards with current evaluations of reduced precision."""
    total = TotalRow
    found: set[int] = set()
    for ids in chunks(board_ids):
        query = select(total.board_id).where(total.board_id.in_(ids), total.category == Category.REDUCED_PRECISION.value)
        found.update(connection.execute(query).scalars())
    return found


def _latest_copies(connection: Connection, board_ids: list[int], categories: Collection[str]) -> list[_Item]:
    """The evaluations to rank, with their results: of an author's copies of one source, the latest."""
    row = EvaluationRow
    given = (row.board_id.in_(board_ids), row.is_current, row.category.in_(categories), row.speedup.is_not(None))
    latest = select(func.max(row.id)).where(*given).group_by(row.source_id, row.board_id, row.author_id)
    query = select(row.source_id, *_COLUMNS).where(row.id.in_(latest))
    return with_results((source, tuple(item)) for source, *item in connection.execute(query))


def best_of_authors(items: Iterable[_Item], nobody: int | None) -> list[_Item]:
    """The best of each author on each board; each submission without an author by itself."""
    best: dict[tuple[int, ...], _Item] = {}
    for item in items:
        board_id, author, number, speedup, *_ = item
        key = (board_id, author, number) if author == nobody else (board_id, author)
        if key not in best or (-speedup, number) < (-best[key][3], best[key][2]):
            best[key] = item
    return list(best.values())


def ranks(intervals: Sequence[tuple[float, float]]) -> list[int]:
    """Ranks from 1 for the intervals of speedups, the best speedup first. An interval that lies below the first one of the last rank begins
    the next rank, whose number is its place."""
    found: list[int] = []
    least = 0.0
    for place, (low, high) in enumerate(intervals, 1):
        begins = not found or high < least
        found.append(place if begins else found[-1])
        least = low if begins else least
    return found


def author_id(connection: Connection, name: str | None) -> int | None:
    """The id of an author, or None if unknown; the name None stands for submissions without an author."""
    return connection.execute(select(AuthorRow.id).where(AuthorRow.sha256 == text_sha256(name))).scalar_one_or_none()


def chunks(ids: Iterable[int]) -> Iterator[list[int]]:
    """The ids in groups, one per statement."""
    rest = iter(ids)
    while some := list(islice(rest, _MANY)):
        yield some


def ranked(items: list[_Item]) -> list[RankedEvaluation]:
    """The ranking of one board's evaluations, each with its result's id, best first."""
    items.sort(key=lambda item: (-item[3], item[2]))
    numbers = ranks([(item[4], item[5]) for item in items])
    held = Counter(numbers)
    return [RankedEvaluation(rank, held[rank] > 1, *item) for rank, item in zip(numbers, items, strict=True)]
