"""Each author's best speedup on each task: a matrix of problems and authors, and the scales of its colours and of bars."""

import math
from dataclasses import dataclass

from db.queries.overall import OverallBoard, TaskResult
from evaluator.results.display.text import natural

MAX_AUTHORS = 20
MAX_TASKS = 100
"""Maximum columns and rows, unless all are requested."""
STEPS = (1.05, 1.5, 3.0)
"""The scale's steps above 1; those below are their reciprocals."""


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One task."""

    problem: str
    precision: str | None
    results: tuple[TaskResult | None, ...]
    """One for each author of the matrix; None if the author has not tried the task."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Tasks by name, and authors, the best one first."""

    authors: tuple[str | None, ...]
    rows: tuple[MatrixRow, ...]
    is_cut: bool
    """Whether the board has more authors or tasks."""


def matrix(board: OverallBoard, every: bool) -> Matrix:
    """The board's first authors and tasks, or all of them with `every`."""
    authors = board.rows if every else board.rows[:MAX_AUTHORS]
    tasks = sorted({(result.problem, result.precision) for row in board.rows for result in row.results}, key=_place)
    shown = tasks if every else tasks[:MAX_TASKS]
    results = [{(result.problem, result.precision): result for result in row.results} for row in authors]
    return Matrix(
        tuple(row.author for row in authors),
        tuple(MatrixRow(*task, tuple(of_author.get(task) for of_author in results)) for task in shown),
        len(authors) < len(board.rows) or len(shown) < len(tasks),
    )


def pace(speedup: float) -> int:
    """The step of the colour scale: 0 about the baseline's speed, up to 3 if faster, down to -3 if slower."""
    return sum(speedup > step for step in STEPS) - sum(speedup < 1 / step for step in STEPS)


def scale() -> list[tuple[int, str]]:
    """The steps of the scale and their meanings, the slowest first."""
    slower = [(-number, f"< {1 / step:.2g}") for number, step in enumerate(STEPS, 1)]
    faster = [(number, f"> {step:g}") for number, step in enumerate(STEPS, 1)]
    return [*reversed(slower), (0, "1"), *faster]


def stretch(speedup: float) -> tuple[float, float]:
    """Begin and length of the bar from 1 to this speedup, on a logarithmic scale with 0.1 or less at 0, 1 at 50, 10 or more at 100."""
    end = 50 + 50 * math.log10(min(max(speedup, 0.1), 10.0))
    return min(end, 50.0), abs(end - 50)


def _place(task: tuple[str, str | None]) -> tuple[str, str]:
    problem, precision = task
    return natural(problem), precision or ""
