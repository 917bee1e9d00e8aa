"""Finds evaluations to compare one with: the best on its board, and the same author's previous one."""

from sqlalchemy import func, select

from db.queries.filters import Filters
from db.queries.ranking import author_id, newest_boards, places
from db.queries.ratio import TimedEvaluation
from db.schema.models import BoardRow, EvaluationRow, SubmissionRow
from db.store import Store


def best_other(store: Store, item: TimedEvaluation) -> int | None:
    """The best ranked evaluation besides `item`: on its board, else on any board of its problem, else None.

    Raises StoreError if the database can't be read.
    """
    if item.problem is None:
        return None
    with store.read() as connection:
        own = connection.execute(select(EvaluationRow.board_id).where(EvaluationRow.id == item.evaluation_id)).scalar_one_or_none()
        boards = newest_boards(connection, Filters(problem=item.problem, protocol=item.protocol))
        ranking = places(connection, boards)
    for found in (ranking.get(own or 0, ()), [place for each in ranking.values() for place in each]):
        others = [place for place in found if item.evaluation_id not in (place.evaluation_id, place.result_id)]
        if others:
            return max(others, key=lambda place: place.speedup).result_id
    return None


def previous(store: Store, item: TimedEvaluation) -> int | None:
    """The evaluation stored before `item`, by its author on its problem; without an author, of its submission.

    None if there is none. Raises StoreError if the database can't be read.
    """
    row, board = EvaluationRow, BoardRow
    query = select(func.max(row.id)).where(row.id < item.evaluation_id)
    with store.read() as connection:
        if item.author is None:
            query = query.join(SubmissionRow, SubmissionRow.id == row.submission_id).where(SubmissionRow.name == item.submission)
        elif item.problem is None:
            return None
        else:
            of_problem = select(board.id).where(board.problem == item.problem)
            query = query.where(row.author_id == author_id(connection, item.author), row.board_id.in_(of_problem))
        found: int | None = connection.execute(query).scalar()
    return found
