"""Compares two authors, problem by problem: which one is faster, by how much, and whether that could be chance.

Boards count if both were judged there. The faster author wins a board unless the intervals of the speedups overlap. If only one
author has solved a board, that author wins it. The ratio of speedups is over the boards solved by both.
"""

from dataclasses import dataclass, replace

from sqlalchemy import Connection, select

from db.queries.disturbances import Disturbances
from db.queries.filters import Filters
from db.queries.names import require_author
from db.queries.ranking import EVERYTHING, UNCOUNTED, KnownBoard, RankedEvaluation, newest_boards, places
from db.queries.statistics import mean_ratio, sign_test
from db.schema.models import BoardRow, TallyRow
from db.store import Store


@dataclass(frozen=True, slots=True)
class ComparedBoard:
    """One board; a speedup is None if the author has not solved it."""

    problem: str
    case: str | None
    device_name: str
    precision: str | None
    first: float | None
    second: float | None
    ratio: float | None
    """First's speedup divided by second's."""
    outcome: str
    """`first`, `second` or `tie`; `neither` if no one has solved it."""
    first_id: int | None
    """The evaluation with first's speedup."""
    second_id: int | None
    first_disturbed: str = ""
    """What disturbed its times, in words. Empty if nothing did, and until `told` has read it."""
    second_disturbed: str = ""

    @property
    def disturbed(self) -> str:
        """What disturbed the times of either."""
        return self.first_disturbed or self.second_disturbed


@dataclass(frozen=True, slots=True)
class AuthorComparison:
    """The first author against the second."""

    first: str
    second: str
    boards: tuple[ComparedBoard, ...]
    wins: int
    losses: int
    ties: int
    ratio: float | None
    """Geometric mean over the boards solved by both."""
    ratio_low: float | None
    """Its 95 % interval, by bootstrap over the boards."""
    ratio_high: float | None
    p_value: float
    """p-value of the two-sided sign test over wins and losses."""


def compare(store: Store, first: str, second: str, filters: Filters = EVERYTHING) -> AuthorComparison:
    """Compare two authors. Raises StoreError for an unknown author, or if the database can't be read."""
    with store.read() as connection:
        ids = [require_author(connection, store, name) for name in (first, second)]
        boards = newest_boards(connection, filters)
        tried = [_tried(connection, author, boards) for author in ids]
        both = [board for board in boards if board.id in tried[0] and board.id in tried[1]]
        ranking = places(connection, both)
        best = [{place.board_id: place for found in ranking.values() for place in found if place.author_id == author} for author in ids]
    compared = tuple(_board(board, *(standings.get(board.id) for standings in best)) for board in both)
    mean = mean_ratio([board.ratio for board in compared if board.ratio is not None])
    wins, losses = (sum(board.outcome == name for board in compared) for name in ("first", "second"))
    return AuthorComparison(
        first=first,
        second=second,
        boards=compared,
        wins=wins,
        losses=losses,
        ties=sum(board.outcome == "tie" for board in compared),
        ratio=mean and mean[0],
        ratio_low=mean and mean[1],
        ratio_high=mean and mean[2],
        p_value=sign_test(wins, losses),
    )


def told(comparison: AuthorComparison, disturbances: Disturbances) -> AuthorComparison:
    """The comparison with what disturbed the times of each speedup. Raises StoreError."""
    boards = comparison.boards
    for side in ("first", "second"):
        boards = disturbances.told(boards, f"{side}_id", f"{side}_disturbed")
    return replace(comparison, boards=boards)


def _tried(connection: Connection, author: int, boards: list[KnownBoard]) -> set[int]:
    """The author's boards; a rejected submission counts for every board of its problem."""
    query = (
        select(BoardRow.id, BoardRow.problem, BoardRow.device_name)
        .join(TallyRow, TallyRow.board_id == BoardRow.id)
        .where(TallyRow.author_id == author, TallyRow.category.not_in(UNCOUNTED))
    )
    found = connection.execute(query).all()
    judged = {number for number, _, _ in found}
    rejected = {problem for _, problem, device in found if device == ""}
    return {board.id for board in boards if board.id in judged or board.problem in rejected}


def _board(board: KnownBoard, first: RankedEvaluation | None, second: RankedEvaluation | None) -> ComparedBoard:
    if first and second:
        apart = first.speedup_low > second.speedup_high or second.speedup_low > first.speedup_high
        outcome = ("first" if first.speedup > second.speedup else "second") if apart else "tie"
    else:
        outcome = "first" if first else "second" if second else "neither"
    return ComparedBoard(
        problem=board.problem,
        case=board.case,
        device_name=board.device_name,
        precision=board.precision,
        first=first.speedup if first else None,
        second=second.speedup if second else None,
        ratio=first.speedup / second.speedup if first and second else None,
        outcome=outcome,
        first_id=first.result_id if first else None,
        second_id=second.result_id if second else None,
    )
