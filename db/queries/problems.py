"""The problems in the database: their versions, solvers, and best results."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from db.queries.ranking import UNCOUNTED, RankedEvaluation, places
from db.schema.models import AuthorRow, BoardRow, CaseRow, EvaluationRow, ProblemRow, TotalRow
from db.store import Store
from evaluator.results.category import Category
from evaluator.results.display.text import natural


@dataclass(frozen=True, slots=True)
class ProblemSummary:
    """A problem's newest version, and its results."""

    name: str
    source: str | None
    """The problem's text; None if evaluations came without it."""
    devices: tuple[str, ...]
    """Device models that it was judged on."""
    submissions: int
    """Number of current evaluations, except `not_evaluated` ones: one per submission, case and device."""
    solved: int
    """Number of `ok` ones among them."""
    not_evaluated: int
    authors: int
    """Authors who have solved it."""
    best_speedup: float | None
    """Best over all cases and devices, by the device's default protocol; None if unsolved."""
    best_author: str | None
    best_device: str | None
    best_evaluation_id: int | None
    best_result_id: int | None
    """The evaluation whose figures the best has (`db.queries.leaderboard.LeaderboardRow.result_id`)."""


@dataclass(frozen=True, slots=True)
class Version:
    """One text of a problem."""

    sha256: str
    source: str | None
    """None if evaluations came without it."""
    cases: tuple[str, ...]
    evaluations: int
    """Number of current evaluations."""
    last_id: int
    """Id of the evaluation stored last; 0 if none is left."""


def problems(store: Store) -> tuple[ProblemSummary, ...]:
    """All problems by name. Raises StoreError if the database can't be read."""
    with store.read() as connection:
        boards = _counting_boards(connection)
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for board_id, category, count in connection.execute(select(TotalRow.board_id, TotalRow.category, TotalRow.count)):
            if board_id in boards:
                counts[boards[board_id].problem][category] += count
        ranking = places(connection, [board for board in boards.values() if board.protocol is None])
        authors = {row.id: row.name for row in connection.execute(select(AuthorRow.id, AuthorRow.name))}
        versions = {(board.problem, board.problem_sha256) for board in boards.values()}
        texts = connection.execute(select(ProblemRow.name, ProblemRow.sha256, ProblemRow.source)).all()
    sources = {name: source for name, sha256, source in texts if (name, sha256) in versions}
    devices: dict[str, set[str]] = defaultdict(set)
    for board in boards.values():
        devices[board.problem] |= {board.device_name} - {""}
    by_problem: dict[str, list[RankedEvaluation]] = defaultdict(list)
    for number, ranked in ranking.items():
        by_problem[boards[number].problem] += ranked
    return tuple(
        _summary(name, sources.get(name), devices[name], counts[name], by_problem[name], boards, authors)
        for name in sorted(counts, key=natural)
    )


def _counting_boards(connection: Connection) -> dict[int, Any]:
    """The boards of each problem's newest version, and of submissions that failed before the version was known, by id."""
    board = BoardRow
    last = select(func.max(EvaluationRow.id)).where(EvaluationRow.board_id == board.id).scalar_subquery()
    columns = (board.id, board.problem, board.problem_sha256, board.device_name, board.protocol, last.label("last"))
    found = connection.execute(select(*columns).where(board.problem.is_not(None))).all()
    newest: dict[str, tuple[int, str]] = {}
    for row in found:
        if row.problem_sha256 is not None:
            newest[row.problem] = max(newest.get(row.problem, (0, "")), (row.last or 0, row.problem_sha256))
    return {row.id: row for row in found if row.problem_sha256 in (None, newest.get(row.problem, (0, None))[1])}


def _summary(
    name: str,
    source: str | None,
    devices: set[str],
    counts: Counter[str],
    ranked: Sequence[RankedEvaluation],
    boards: Mapping[int, Any],
    authors: Mapping[int, str | None],
) -> ProblemSummary:
    not_evaluated = sum(counts[category] for category in UNCOUNTED)
    best = max(ranked, key=lambda place: (place.speedup, -place.evaluation_id), default=None)
    return ProblemSummary(
        name=name,
        source=source,
        devices=tuple(sorted(devices)),
        submissions=counts.total() - not_evaluated,
        solved=counts[Category.OK.value],
        not_evaluated=not_evaluated,
        authors=len({place.author_id for place in ranked}),
        best_speedup=best.speedup if best else None,
        best_author=authors[best.author_id] if best else None,
        best_device=boards[best.board_id].device_name if best else None,
        best_evaluation_id=best.evaluation_id if best else None,
        best_result_id=best.result_id if best else None,
    )


def versions(store: Store, problem: str) -> tuple[Version, ...]:
    """The versions of a problem, the last evaluated one first; empty for an unknown problem."""
    board = BoardRow
    last = select(func.max(EvaluationRow.id)).where(EvaluationRow.board_id == board.id).scalar_subquery()
    count = select(func.sum(TotalRow.count)).where(TotalRow.board_id == board.id).scalar_subquery()
    evaluated: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    with store.read() as connection:
        for sha256, newest, counted in connection.execute(select(board.problem_sha256, last, count).where(board.problem == problem)):
            if sha256 is not None:
                evaluated[sha256][0] += int(counted or 0)
                evaluated[sha256][1] = max(evaluated[sha256][1], newest or 0)
        texts = connection.execute(select(ProblemRow.sha256, ProblemRow.source).where(ProblemRow.name == problem)).all()
        cases: dict[str, list[str]] = defaultdict(list)
        for sha256, name in connection.execute(select(CaseRow.problem_sha256, CaseRow.name).where(CaseRow.problem == problem)):
            cases[sha256].append(name)
    found = [Version(sha256, source, tuple(sorted(cases[sha256])), *evaluated[sha256]) for sha256, source in texts]
    return tuple(sorted(found, key=lambda version: -version.last_id))


def protocols(store: Store, problem: str) -> tuple[str | None, ...]:
    """The protocols that timed it: None (the device's default) first, then the others. Raises StoreError."""
    with store.read() as connection:
        found = connection.execute(select(BoardRow.protocol).where(BoardRow.problem == problem).distinct()).scalars().all()
    return (None, *sorted({protocol for protocol in found if protocol is not None}))
