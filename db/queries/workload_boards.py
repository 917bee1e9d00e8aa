"""Boards for one workload, of submissions that were judged in all of a problem's workloads."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from sqlalchemy import Connection, func, select

from db.queries.filters import Filters
from db.queries.ranking import (
    WITH_REDUCED,
    KnownBoard,
    RankedEvaluation,
    author_id,
    best_of_authors,
    chunks,
    newest_boards,
    ranked,
    with_results,
)
from db.schema.evidence_models import WorkloadRow
from db.schema.models import EvaluationRow
from evaluator.results.category import Category
from evaluator.results.result import ALL_CASES


@dataclass(frozen=True, slots=True)
class WorkloadPlaces:
    """The ranking of one board by one of its workloads."""

    board: KnownBoard
    """Its case is the workload's name."""
    places: list[RankedEvaluation]
    times_ms: dict[int, tuple[float, float]]
    """The time of the submission and of the baseline in the workload, by evaluation."""


def workload_boards(connection: Connection, filters: Filters, *, every: bool, reduced_precision: bool) -> list[WorkloadPlaces]:
    """The boards of the filter's case, if it is a workload that was timed with others; one place per author, or per source with
    `every`."""
    if filters.case in (None, ALL_CASES):
        return []
    boards = newest_boards(connection, replace(filters, case=ALL_CASES))
    nobody, found = author_id(connection, None), []
    categories = WITH_REDUCED if reduced_precision else (Category.OK.value,)
    for board in boards:
        evaluations, row, times = _current(connection, board.id, categories), WorkloadRow, {}
        items = []
        for ids in chunks(evaluations):
            columns = (row.evaluation_id, row.speedup, row.speedup_low, row.speedup_high, row.runtime_ms, row.baseline_ms)
            query = select(*columns).where(row.evaluation_id.in_(ids), row.case == filters.case)
            for number, speedup, low, high, runtime_ms, baseline_ms in connection.execute(query):
                author, category, _ = evaluations[number]
                items.append((board.id, author, number, speedup, low, high, category))
                times[number] = (runtime_ms, baseline_ms)
        if items:
            results = with_results((evaluations[item[2]][2], item) for item in items)
            places = ranked(results if every else best_of_authors(results, nobody))
            found.append(WorkloadPlaces(replace(board, case=filters.case), places, times))
    return found


def _current(connection: Connection, board_id: int, categories: Collection[str]) -> dict[int, tuple[int, str, int]]:
    """Author, category and source of each current evaluation on a board; of an author's copies of one source, only the latest."""
    row = EvaluationRow
    given = (row.board_id == board_id, row.is_current, row.category.in_(categories), row.speedup.is_not(None))
    latest = select(func.max(row.id)).where(*given).group_by(row.source_id, row.author_id)
    query = select(row.id, row.author_id, row.category, row.source_id).where(row.id.in_(latest))
    return {number: (author, category, source) for number, author, category, source in connection.execute(query)}
