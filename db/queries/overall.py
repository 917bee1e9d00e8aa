"""Ranks authors over all problems: tasks solved, speedups, pass@k, and failures of the rest.

There is one board per case and device model. Its tasks are the newest versions of all problems judged there, one per precision. A task
that an author has not tried is unsolved. Tasks and authors with only `not_evaluated` evaluations are left out.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from sqlalchemy import Connection, case, func, select

from db.queries.disturbances import Disturbances
from db.queries.filters import Filters
from db.queries.leaderboard import Failures, counted
from db.queries.ranking import EVERYTHING, UNCOUNTED, WITH_REDUCED, KnownBoard, RankedEvaluation, chunks, judged_on, newest_boards, places
from db.queries.statistics import FAST_P, PASS_AT, fast_p, geometric_mean, pass_at_k
from db.schema.models import AuthorRow, BoardRow, TallyRow
from db.store import Store
from evaluator.results.category import Category

MEDALS = 3
"""Ranks with a medal: gold, silver, bronze."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """An author's best on a task that the author has tried; None if no sample solves it."""

    problem: str
    precision: str | None
    samples: int
    speedup: float | None = None
    rank: int | None = None
    """Its rank on the task's board."""
    category: str | None = None
    """`ok`, or `reduced_precision` if that is ranked too."""
    evaluation_id: int | None = None
    """The evaluation with this speedup."""
    disturbed: str = ""
    """What disturbed its times, in words. Empty if nothing did, and until `told` has read it."""


@dataclass(frozen=True, slots=True)
class OverallRow:
    """One author on an overall board."""

    rank: int
    """Rank by geometric mean."""
    author: str | None
    attempted: int
    """Tasks that the author has tried."""
    samples: int
    """Current evaluations, except `not_evaluated` ones."""
    solved: int
    reduced: int
    """Solved tasks whose best is of reduced precision, if that is ranked too."""
    fast: dict[float, float]
    """fast_p by p, over all tasks."""
    geometric_mean: float
    """Geometric mean of the best speedups over all tasks; an unsolved one counts `FAILURE_SPEEDUP`."""
    pass_at: dict[int, float]
    """pass@k by k, over the attempted tasks; only for k up to the fewest samples of any of them."""
    medals: tuple[int, int, int]
    """Number of boards on which the author's best has rank 1, 2 and 3."""
    failures: Failures
    results: tuple[TaskResult, ...]
    """One for each attempted task, in the order of the tasks."""
    shared: bool = False
    """Whether another author has the same rank."""


@dataclass(frozen=True, slots=True)
class OverallBoard:
    """All authors on one case and device."""

    case: str | None
    device_name: str
    tasks: int
    rows: tuple[OverallRow, ...]

    @property
    def solved(self) -> int:
        """Tasks that any author has solved."""
        return len({(task.problem, task.precision) for row in self.rows for task in row.results if task.speedup is not None})

    @property
    def tasks_text(self) -> str:
        """As in `1 task`."""
        return f"{self.tasks} {'task' if self.tasks == 1 else 'tasks'}"


@dataclass(slots=True)
class _Record:
    """One author's data."""

    samples: Counter[int]
    right: Counter[int]
    categories: Counter[str]
    best: dict[int, RankedEvaluation]
    medals: list[int]


def overall(store: Store, filters: Filters = EVERYTHING, *, reduced_precision: bool = False) -> tuple[OverallBoard, ...]:
    """The matching overall boards, the one with the most solved tasks first, and in each the best author first.

    They cover all problems and authors; filters on these are ignored.

    With `reduced_precision`, that category also solves a task. Raises StoreError if the database can't be read.
    """
    with store.read() as connection:
        boards = judged_on(connection, newest_boards(connection, replace(filters, problem=None, author=None)))
        ranking = places(connection, boards, reduced_precision=reduced_precision)
        solving = WITH_REDUCED if reduced_precision else (Category.OK.value,)
        settings: dict[tuple[str | None, str], list[KnownBoard]] = defaultdict(list)
        for board in boards:
            settings[board.case, board.device_name].append(board)
        rejected = _rejected_boards(connection)
        names: dict[int, str | None] = {row.id: row.name for row in connection.execute(select(AuthorRow.id, AuthorRow.name))}
        found = [
            OverallBoard(
                case_name, device_name, len(tasks), _rows(_records(connection, tasks, rejected, ranking, solving), names, tasks, solving)
            )
            for (case_name, device_name), tasks in settings.items()
        ]
        return tuple(sorted(found, key=lambda board: (-board.solved, board.device_name, board.case or "")))


def told(boards: Sequence[OverallBoard], disturbances: Disturbances) -> tuple[OverallBoard, ...]:
    """The boards with what disturbed the times of each task's result. Raises StoreError."""
    disturbances.of(result.evaluation_id for board in boards for row in board.rows for result in row.results)
    return tuple(replace(board, rows=tuple(replace(row, results=disturbances.told(row.results)) for row in board.rows)) for board in boards)


def _rejected_boards(connection: Connection) -> dict[int, str]:
    """Problems of the boards of evaluations that failed before their device was known: these belong to every setting."""
    query = select(BoardRow.id, BoardRow.problem).where(BoardRow.device_name == "", BoardRow.problem.is_not(None))
    return {number: problem for number, problem in connection.execute(query) if problem is not None}


def _records(
    connection: Connection,
    tasks: list[KnownBoard],
    rejected: dict[int, str],
    ranking: dict[int, list[RankedEvaluation]],
    solving: Sequence[str],
) -> dict[int, _Record]:
    records: dict[int, _Record] = defaultdict(lambda: _Record(Counter(), Counter(), Counter(), {}, [0] * MEDALS))
    of_problem: dict[str, list[int]] = defaultdict(list)
    for task in tasks:
        of_problem[task.problem].append(task.id)
    counts_for = {task.id: [task.id] for task in tasks}
    counts_for |= {number: of_problem[problem] for number, problem in rejected.items() if problem in of_problem}
    tally = TallyRow
    for ids in chunks(counts_for):
        of_board = tally.board_id.in_(ids)
        by_category = (
            select(tally.author_id, tally.category, func.sum(tally.count)).where(of_board).group_by(tally.author_id, tally.category)
        )
        for author, category, count in connection.execute(by_category):
            records[author].categories[category] += int(count)
        right = func.sum(case((tally.category.in_(solving), tally.count), else_=0))
        by_board = select(tally.board_id, tally.author_id, func.sum(tally.count), right)
        judged = by_board.where(of_board, tally.category.not_in(UNCOUNTED)).group_by(tally.board_id, tally.author_id)
        for board_id, author, samples, right_ones in connection.execute(judged):
            for task_id in counts_for[board_id]:
                records[author].samples[task_id] += int(samples)
                records[author].right[task_id] += int(right_ones)
    for task in tasks:
        earned: set[int] = set()
        for place in ranking[task.id]:
            record = records[place.author_id]
            if task.id not in record.best or place.speedup > record.best[task.id].speedup:
                record.best[task.id] = place
            if place.rank <= MEDALS and place.author_id not in earned:
                record.medals[place.rank - 1] += 1
                earned.add(place.author_id)
    return records


def _rows(
    records: dict[int, _Record], names: dict[int, str | None], tasks: list[KnownBoard], solving: Sequence[str]
) -> tuple[OverallRow, ...]:
    rows = [_row(record, names[author], tasks, solving) for author, record in records.items() if record.samples]
    rows.sort(key=lambda row: (-row.geometric_mean, row.author or ""))
    means = [row.geometric_mean for row in rows]
    return tuple(replace(row, rank=means.index(row.geometric_mean) + 1, shared=means.count(row.geometric_mean) > 1) for row in rows)


def _row(record: _Record, author: str | None, tasks: list[KnownBoard], solving: Sequence[str]) -> OverallRow:
    speedups = [record.best[task.id].speedup if task.id in record.best else None for task in tasks]
    attempted = [task.id for task in tasks if record.samples[task.id]]
    fewest = min((record.samples[task_id] for task_id in attempted), default=0)
    return OverallRow(
        rank=0,
        author=author,
        attempted=len(attempted),
        samples=sum(count for name, count in record.categories.items() if name not in UNCOUNTED),
        solved=len(record.best),
        reduced=sum(place.category != Category.OK.value for place in record.best.values()),
        fast={p: fast_p(speedups, p) for p in FAST_P},
        geometric_mean=geometric_mean(speedups) or 0.0,
        pass_at={
            k: fmean(pass_at_k(record.samples[task_id], record.right[task_id], k) for task_id in attempted) for k in PASS_AT if k <= fewest
        },
        medals=(record.medals[0], record.medals[1], record.medals[2]),
        failures=counted(dict(record.categories), solving),
        results=tuple(_result(record, task) for task in tasks if record.samples[task.id]),
    )


def _result(record: _Record, task: KnownBoard) -> TaskResult:
    known, best = (task.problem, task.precision, record.samples[task.id]), record.best.get(task.id)
    return TaskResult(*known, best.speedup, best.rank, best.category, best.result_id) if best else TaskResult(*known)
