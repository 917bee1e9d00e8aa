"""Which evaluations speak for a submission today, all others being history.

Of the evaluations of one submission and block for one problem, case and device, the latest counts; one that was `not_evaluated` counts only
where there is no other. A rejected submission has no device and often no case, problem or block, so two rules join it to the rest: an
evaluation without a device gives way to any later one, and an evaluation gives way to a later rejection of a changed source (the file
that was judged is no longer there). What an evaluation leaves open matches anything. Later means stored later.
"""

from typing import Any

from sqlalchemy import CTE, and_, exists, func, or_, select
from sqlalchemy.orm import aliased

from db.models import EvaluationRow
from evaluator.category import Status

_NOT_EVALUATED = Status.NOT_EVALUATED.value


def current_evaluations(*given: Any) -> CTE:
    """Ids of the current evaluations that fulfil the conditions `given`.

    The conditions may be on columns of `EvaluationRow` that name what was evaluated (submission, block, problem, case, device_name), not
    how it went: they are applied first.
    """
    row = EvaluationRow
    place = (
        func.row_number()
        .over(
            partition_by=[row.submission, row.block, row.problem, row.case, row.device_name],
            order_by=[row.status == _NOT_EVALUATED, row.id.desc()],
        )
        .label("place")
    )
    columns = [row.id, row.submission, row.block, row.problem, row.device_name, row.source_sha256]
    placed = select(*columns, place).where(*given).cte("placed")
    later = aliased(EvaluationRow, name="later")
    superseded = exists().where(
        later.submission == placed.c.submission,
        later.id > placed.c.id,
        or_(
            and_(
                placed.c.device_name == "",
                later.status != _NOT_EVALUATED,
                or_(placed.c.block.is_(None), placed.c.block == later.block),
                or_(placed.c.problem.is_(None), placed.c.problem == later.problem),
            ),
            and_(
                later.status == Status.REJECTED.value,
                later.source_sha256 != placed.c.source_sha256,
                or_(later.block.is_(None), placed.c.block == later.block),
                or_(later.problem.is_(None), placed.c.problem == later.problem),
            ),
        ),
    )
    return select(placed.c.id).where(placed.c.place == 1, ~superseded).cte("current")
