"""Two texts side by side: equal and changed parts; long equal parts are folded."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from markupsafe import Markup

from web.text_process import DEADLINE_S, TextProcess

CONTEXT = 3
"""Equal lines shown before and after a change."""
FEWEST_FOLDED = 4
"""Minimum lines of a fold."""
COMMAND = (sys.executable, "-I", str(Path(__file__).with_name("diff_process.py")))


@dataclass(frozen=True, slots=True)
class Step:
    """A range of lines in both texts. Lines count from 0; ends are excluded."""

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
    """Rows of lines side by side; None if one text has no counterpart."""

    equal: bool
    folded: bool
    rows: tuple[tuple[Line | None, Line | None], ...]


class Differ(TextProcess):
    """The process that compares texts."""

    def __init__(self, deadline_s: float = DEADLINE_S, command: Sequence[str] = COMMAND) -> None:
        super().__init__(command, deadline_s)

    def steps(self, left: Sequence[str], right: Sequence[str]) -> tuple[tuple[Step, ...], bool]:
        """The steps from one text to the other, and whether the comparison was finished.

        If it takes too long, all lines between the first and the last difference count as changed.
        """
        found = self.ask([list(left), list(right)])
        if isinstance(found, list):
            return tuple(Step(kind == "equal", *places) for kind, *places in found), True
        return tuple(_coarse(left, right)), False


def parts(steps: Sequence[Step], left: Sequence[Line], right: Sequence[Line]) -> Iterator[Part]:
    """The parts to show of two texts, from the steps between them."""
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
    # Lines of the common beginning don't count again at the end.
    same = _equal(left[start:][::-1], right[start:][::-1])
    left_end, right_end = len(left) - same, len(right) - same
    yield Step(True, 0, start, 0, start)
    yield Step(False, start, left_end, start, right_end)
    yield Step(True, left_end, len(left), right_end, len(right))


def _equal(left: Sequence[str], right: Sequence[str]) -> int:
    """Number of equal lines at the beginning of both."""
    return next((number for number, (one, other) in enumerate(zip(left, right, strict=False)) if one != other), min(len(left), len(right)))
