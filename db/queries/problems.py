"""Problems as the database knows them: their versions, how many were evaluated on them, and how the best time came down."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select

from db.queries.filters import Filters
from db.queries.ranking import UNCOUNTED, newest_boards
from db.schema.models import AuthorRow, BoardRow, CaseRow, EvaluationRow, ProblemRow, SubmissionRow, TotalRow
from db.store import Store
from evaluator.results.category import Category


@dataclass(frozen=True, slots=True)
class ProblemCount:
    """A problem and its current evaluations, over all its versions."""

    name: str
    evaluations: int
    ok: int
    not_evaluated: int


@dataclass(frozen=True, slots=True)
class Version:
    """One text of a problem."""

    sha256: str
    source: str | None
    """None where evaluations came without it."""
    cases: tuple[str, ...]
    evaluations: int
    """Current ones."""
    last_id: int
    """The evaluation that was stored last; 0 where there is none left."""


@dataclass(frozen=True, slots=True)
class BestTime:
    """An `ok` evaluation that was faster than all before it on its board."""

    started_at: datetime
    evaluation_id: int
    runtime_ms: float
    speedup: float
    author: str | None
    submission: str


@dataclass(frozen=True, slots=True)
class BestTimeHistory:
    """How the best time on one board of a problem's newest version came down; history included."""

    case: str | None
    device_name: str
    precision: str | None
    times: tuple[BestTime, ...]
    """In the order in which they began."""


def problems(store: Store) -> tuple[ProblemCount, ...]:
    """All problems by name. Raises StoreError where the database can't be read."""
    query = select(BoardRow.problem, TotalRow.category, func.sum(TotalRow.count)).join(BoardRow, BoardRow.id == TotalRow.board_id)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    with store.read() as connection:
        for problem, category, count in connection.execute(query.group_by(BoardRow.problem, TotalRow.category)):
            if problem is not None:
                counts[problem][category] += int(count)
    return tuple(
        ProblemCount(name, sum(found.values()), found[Category.OK.value], sum(found[category] for category in UNCOUNTED))
        for name, found in sorted(counts.items())
    )


def versions(store: Store, problem: str) -> tuple[Version, ...]:
    """The versions of a problem, the one that was evaluated last first; none where the database does not know it."""
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
    """By which protocols it was timed: None, the device's default, first, and then the others there are. Raises StoreError."""
    with store.read() as connection:
        found = connection.execute(select(BoardRow.protocol).where(BoardRow.problem == problem).distinct()).scalars().all()
    return (None, *sorted({protocol for protocol in found if protocol is not None}))


def best_time_histories(store: Store, problem: str) -> tuple[BestTimeHistory, ...]:
    """A record for each board of the problem's newest version that has an `ok` evaluation."""
    with store.read() as connection:
        found = []
        for board in newest_boards(connection, Filters(problem=problem)):
            row = EvaluationRow
            query = select(row.started_at, row.id, row.runtime_ms).where(row.board_id == board.id, row.category == Category.OK.value)
            best: dict[int, tuple[datetime, float]] = {}
            least_ms = float("inf")
            for started_at, number, runtime_ms in connection.execute(query.order_by(row.started_at, row.id)):
                if runtime_ms is not None and runtime_ms < least_ms:
                    least_ms = runtime_ms
                    best[number] = (started_at, runtime_ms)
            details = (
                select(row.id, row.speedup, AuthorRow.name, SubmissionRow.name)
                .join(SubmissionRow, SubmissionRow.id == row.submission_id)
                .join(AuthorRow, AuthorRow.id == row.author_id)
                .where(row.id.in_(best))
            )
            told = {number: (speedup or 0.0, author, submission) for number, speedup, author, submission in connection.execute(details)}
            if best:
                times = tuple(BestTime(moment, number, runtime_ms, *told[number]) for number, (moment, runtime_ms) in best.items())
                found.append(BestTimeHistory(board.case, board.device_name, board.precision, times))
    return tuple(found)
