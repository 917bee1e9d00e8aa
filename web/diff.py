"""Two texts side by side: their equal and their changed parts, long equal ones folded."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from markupsafe import Markup

from web.text_process import DEADLINE_S, TextProcess

CONTEXT = 3
"""Equal lines that are shown beside a change."""
FEWEST_FOLDED = 4
"""Fewer lines are not worth folding."""
COMMAND = (sys.executable, "-I", str(Path(__file__).with_name("diff_process.py")))


@dataclass(frozen=True, slots=True)
class Step:
    """A stretch of both texts; lines are counted from 0, and ends are excluded."""

    equal: bool
    left_start: int
    left_end: int
    right_start: int
    right_end: int


@dataclass(frozen=True, slots=True)
class Line:
    """One line as HTML."""

    number: int
    html: Markup


@dataclass(frozen=True, slots=True)
class Part:
    """Lines beside each other; None where one text has no counterpart."""

    equal: bool
    folded: bool
    rows: tuple[tuple[Line | None, Line | None], ...]


class Differ(TextProcess):
    """The process that compares texts."""

    def __init__(self, deadline_s: float = DEADLINE_S, command: Sequence[str] = COMMAND) -> None:
        super().__init__(command, deadline_s)

    def steps(self, left: Sequence[str], right: Sequence[str]) -> tuple[tuple[Step, ...], bool]:
        """The way from one text to the other, and whether it is the shortest that was found.

        Where finding it takes too long, all between the first and the last difference counts as changed.
        """
        found = self.ask([list(left), list(right)])
        if isinstance(found, list):
            return tuple(Step(kind == "equal", *places) for kind, *places in found), True
        return tuple(_coarse(left, right)), False


def parts(steps: Sequence[Step], left: Sequence[Line], right: Sequence[Line]) -> Iterator[Part]:
    """What is shown of two texts, by the steps between them."""
    for number, step in enumerate(steps):
        rows = tuple(zip_longest(left[step.left_start : step.left_end], right[step.right_start : step.right_end]))
        if not step.equal:
            yield Part(False, False, rows)
            continue
        # Nothing is changed before the first part and after the last one.
        before = 0 if number == 0 else CONTEXT
        after = len(rows) - (0 if number == len(steps) - 1 else CONTEXT)
        if after - before < FEWEST_FOLDED:
            if rows:
                yield Part(True, False, rows)
            continue
        shown = ((False, rows[:before]), (True, rows[before:after]), (False, rows[after:]))
        yield from (Part(True, folded, some) for folded, some in shown if some)


def _coarse(left: Sequence[str], right: Sequence[str]) -> Iterator[Step]:
    start = _equal(left, right)
    # What the texts begin with is not counted at their ends again.
    same = _equal(left[start:][::-1], right[start:][::-1])
    left_end, right_end = len(left) - same, len(right) - same
    yield Step(True, 0, start, 0, start)
    yield Step(False, start, left_end, start, right_end)
    yield Step(True, left_end, len(left), right_end, len(right))


def _equal(left: Sequence[str], right: Sequence[str]) -> int:
    """With how many equal lines both begin."""
    return next((number for number, (one, other) in enumerate(zip(left, right, strict=False)) if one != other), min(len(left), len(right)))
