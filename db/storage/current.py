"""Defines which evaluations of a submission are current; all others are history.

Of the evaluations of one submission and code block for one problem, case, device, precision and protocol, the latest counts. A
`not_evaluated` one counts only if there is no other, and gives way to any later matching one. If it failed before its problem, case or
device was known, the unknown fields match anything. A rejected submission has no device and often no case, problem or block, so two rules
join it to the rest: an evaluation without a device gives way to any later one, and an evaluation gives way to a later rejection of a
changed source (the judged file no longer exists). An evaluation from before precisions were stored gives way to a later one with a
precision. Later means stored later.

The stored `is_current` follows this definition (`db.storage.standing`).
"""

from typing import Any

from sqlalchemy import CTE, and_, exists, func, or_, select
from sqlalchemy.orm import aliased

from db.schema.models import BoardRow, EvaluationRow, SubmissionRow
from evaluator.results.category import Status

_NOT_EVALUATED = Status.NOT_EVALUATED.value


def current_evaluations(*given: Any) -> CTE:
    """Ids of the current evaluations that meet the conditions `given`, which may only use columns of `SubmissionRow`."""
    row, submission, board = EvaluationRow, SubmissionRow, BoardRow
    of_board = (board.problem, board.case, board.device_name, board.precision, board.protocol)
    place = (
        func.row_number()
        .over(
            partition_by=[submission.name, submission.block, *of_board],
            order_by=[row.status == _NOT_EVALUATED, row.id.desc()],
        )
        .label("place")
    )
    columns = [row.id, row.status, row.source_id, submission.name, submission.block, *of_board]
    placed = (
        select(*columns, place)
        .join(submission, submission.id == row.submission_id)
        .join(board, board.id == row.board_id)
        .where(*given)
        .cte("placed")
    )
    later, handed_in, later_board = (
        aliased(EvaluationRow, name="later"),
        aliased(SubmissionRow, name="later_submission"),
        aliased(BoardRow, name="later_board"),
    )
    same_block = or_(placed.c.block.is_(None), placed.c.block == handed_in.block)
    same_problem = or_(placed.c.problem.is_(None), placed.c.problem == later_board.problem)
    superseded = exists().where(
        handed_in.name == placed.c.name,
        later.submission_id == handed_in.id,
        later_board.id == later.board_id,
        later.id > placed.c.id,
        or_(
            and_(
                placed.c.status == _NOT_EVALUATED,
                placed.c.block.is_not_distinct_from(handed_in.block),
                same_problem,
                or_(placed.c.case.is_(None), placed.c.case == later_board.case),
                or_(placed.c.precision.is_(None), placed.c.precision == later_board.precision),
                or_(
                    placed.c.device_name == "",
                    and_(placed.c.device_name == later_board.device_name, placed.c.protocol.is_not_distinct_from(later_board.protocol)),
                ),
            ),
            and_(placed.c.device_name == "", later.status != _NOT_EVALUATED, same_block, same_problem),
            and_(
                placed.c.precision.is_(None),
                later_board.precision.is_not(None),
                later.status != _NOT_EVALUATED,
                placed.c.block.is_not_distinct_from(handed_in.block),
                placed.c.problem == later_board.problem,
                placed.c.case.is_not_distinct_from(later_board.case),
                placed.c.device_name == later_board.device_name,
                placed.c.protocol.is_not_distinct_from(later_board.protocol),
            ),
            and_(
                later.status == Status.REJECTED.value,
                later.source_id != placed.c.source_id,
                or_(handed_in.block.is_(None), placed.c.block == handed_in.block),
                or_(later_board.problem.is_(None), placed.c.problem == later_board.problem),
            ),
        ),
    )
    return select(placed.c.id).where(placed.c.place == 1, ~superseded).cte("current")
