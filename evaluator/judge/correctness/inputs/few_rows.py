"""Changes to a few values of random inputs, which no sample of these shows.

`rows` makes a few rows of new inputs smaller, and changes the signs of a few runs of elements. `outliers` makes a few elements of the last
inputs large, where they are. `runs` changes a few runs there instead, where an output overflows from outliers. So a submission fails that
looks at some values to tell the problem's own inputs from others, that estimates a sum from some of its terms, or that keeps something of
an input for as long as some values stay the same. To be sure to see an outlier, it has to read everything.

All three only multiply, as `signs` and `scaled` do, and change no input that those leave as it is.
"""

import copy
import math
import random
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import torch

from evaluator.judge.correctness.inputs.input_distributions import CHANGED_TYPES
from evaluator.judge.correctness.inputs.input_structure import InputStructure, Kind, structure_of
from evaluator.judge.correctness.row_sampling import mapped
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.problem import ProblemCase
from evaluator.worker.structure import tensors_of

ROWS, RUNS, OUTLIERS = "rows", "runs", "outliers"
SHARE = 64
"""One in so many rows is changed, and at least one."""
MOST_ROWS = 8
"""Most rows of one dimension that are changed. Each takes a kernel of its own."""
LEAST_ROWS = 8
"""A tensor with fewer rows has none changed: one would be much of it."""
OCTAVES = (0.2, 1.5)
"""A row is divided by two to the power of a number between these: its values stay within the range of the other rows, and some of them
alone do not show it."""
RUNS_OF_EACH = 4
RUN_SHARE, LONGEST_RUN = 128, 64
"""A run has this share of the last dimension's elements, but no more than so many: few of them are in a sample, and a product of 16,384
terms changes by an eighth."""
ENERGY = (0.5, 2.0)
"""The outliers of a row have together this many times the row's sum of squares."""
OUTLIER_SHARE = 256
"""One in so many elements of a row becomes an outlier at the most, and one at the least."""
SPREAD = 0.5
"""From the smallest outlier of a row to the largest, in parts of their mean: equal ones would tie for the maximum."""
LARGEST_OUTLIER = 256.0
"""In root mean squares of the row. Activations of language models have such elements."""
LARGEST_HALF = 128.0
"""The largest outlier in float16, whose numbers end at 65504: squares stay below that."""

_random = secrets.SystemRandom()


class FewRows(list[Any]):
    """Arguments of which a few values were changed."""

    def __init__(self, arguments: Sequence[Any], first: Sequence[int] = (), written: Sequence["_Written"] = ()) -> None:
        """`first`: the indices of dimension 0 that hold changed rows or elements, unless all do. `written`: what can be undone."""
        super().__init__(arguments)
        self.first = tuple(first)
        self._written = list(written)

    @property
    def has_outliers(self) -> bool:
        """Whether a few elements are large."""
        return bool(self._written)

    def remove_outliers(self) -> None:
        """Give the elements that became outliers their values back, in place."""
        while self._written:
            flat, positions, values = self._written.pop()
            flat[positions] = values


_Written = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""A flat tensor, positions in it, and the values that were there."""


class FewChanges:
    """All these changes to a case's inputs, where they may be multiplied, and the problem is not without `scaled` or `signs`."""

    def __init__(self, case: ProblemCase, device: torch.device) -> None:
        """Raises ProblemError."""
        structure = None if case.any_inputs else structure_of(case, device)
        without = case.problem.declaration.without
        kinds = {kind for number, kind in enumerate(structure.kinds) if number not in structure.tied} if structure else {Kind.FREE}
        may_scale = "scaled" not in without and bool(kinds & {Kind.FREE, Kind.POSITIVE})
        may_flip = "signs" not in without and Kind.FREE in kinds
        self.names: tuple[str, ...] = (*((ROWS, OUTLIERS) if may_scale else ()), *((RUNS,) if may_scale or may_flip else ()))
        """The changes that there are."""
        self._structure = structure
        self._flips = self._flips_beside_rows = may_flip

    def only(self, shown: Collection[str]) -> "FewChanges":
        """A copy with only the changes of these names, for which a right answer has been seen. Without `signs`, small rows keep theirs."""
        fewer = copy.copy(self) if "signs" in shown else self.keeping_signs()
        fewer.names = tuple(name for name in self.names if name in shown)
        return fewer

    def keeping_signs(self) -> "FewChanges":
        """A copy that changes no signs beside smaller rows."""
        keeping = copy.copy(self)
        keeping._flips_beside_rows = False
        return keeping

    @property
    def in_place(self) -> str:
        """The strongest change that is made to the last inputs, where they are; empty for none."""
        return next((name for name in (OUTLIERS, RUNS) if name in self.names), "")

    def changed(self, name: str, arguments: Sequence[Any], seed: int | None = None) -> list[Any]:
        """Arguments with the change of this name, in place where possible."""
        seed = fresh_seed() if seed is None else seed
        if name == OUTLIERS:
            return with_outliers(arguments, seed, self._structure)
        if name == RUNS:
            return with_changed_runs(arguments, seed, self._structure, flips=self._flips)
        smaller = with_smaller_rows(arguments, seed, self._structure)
        return with_changed_runs(smaller, seed, self._structure) if self._flips_beside_rows else smaller

    def either(self, arguments: Sequence[Any]) -> list[Any]:
        """New inputs with smaller rows or with the strongest change of elements, at random; as they are where there is no change."""
        names = [name for name in (ROWS, self.in_place) if name in self.names]
        return self.changed(_random.choice(names), arguments) if names else list(arguments)


def with_smaller_rows(arguments: Sequence[Any], seed: int, structure: InputStructure | None = None) -> list[Any]:
    """Inputs with a few rows of each tensor made smaller, in place where possible; as they are where none may change. Rows are those of
    each dimension, and of the first few dimensions together."""
    drawn, first = random.Random(seed), set[int]()

    def change(tensor: torch.Tensor, _: Kind) -> bool:
        is_changed = False
        for rows, each in _rows_of(tensor):
            if len(rows) < LEAST_ROWS:
                continue
            is_changed = True
            for row in drawn.sample(range(len(rows)), min(max(len(rows) // SHARE, 1), MOST_ROWS)):
                rows[row].mul_(2.0 ** -drawn.uniform(*OCTAVES))
                if each is not None:
                    first.add(row // each)
        return is_changed

    changed, any_changed = _changed(arguments, structure, change)
    return FewRows(changed, sorted(first)) if any_changed else changed


def with_changed_runs(arguments: Sequence[Any], seed: int, structure: InputStructure | None = None, *, flips: bool = True) -> list[Any]:
    """Change a few runs of neighbouring elements, in place where possible: other signs if it `flips`, otherwise and where inputs are
    positive half the value. Outliers of an earlier change are removed. Return the arguments."""
    if isinstance(arguments, FewRows):
        arguments.remove_outliers()
    drawn, first = random.Random(seed), set[int](arguments.first if isinstance(arguments, FewRows) else ())

    def change(tensor: torch.Tensor, kind: Kind) -> bool:
        flat = tensor.view(-1)
        length = max(1, min(tensor.shape[-1] // RUN_SHARE, LONGEST_RUN))
        for _ in range(RUNS_OF_EACH):
            start = drawn.randrange(max(len(flat) - length, 0) + 1)
            flat[start : start + length].mul_(-1.0 if flips and kind is Kind.FREE else 0.5)
            first.add(start // (len(flat) // len(tensor)))
        return True

    changed, any_changed = _changed(arguments, structure, change)
    return FewRows(changed, sorted(first)) if any_changed or isinstance(arguments, FewRows) else changed


def with_outliers(arguments: Sequence[Any], seed: int, structure: InputStructure | None = None) -> list[Any]:
    """Make a few elements of each tensor large, in place where possible: in a row of dimension 0, in one of all dimensions but the last, or
    anywhere. Outliers of an earlier change are removed. Return the arguments.

    Zeros stay, and signs do. How many elements become large, and how large, is random: few very large ones, or more that are less large.
    """
    drawn, first = random.Random(seed), set[int](arguments.first if isinstance(arguments, FewRows) else ())
    written: list[_Written] = []
    if isinstance(arguments, FewRows):
        arguments.remove_outliers()

    def change(tensor: torch.Tensor, _: Kind) -> bool:
        generator = torch.Generator(tensor.device).manual_seed(drawn.getrandbits(63))
        flat = tensor.view(-1)
        rows = drawn.choice((1, len(tensor), len(flat) // tensor.shape[-1]))
        length, row = len(flat) // rows, drawn.randrange(rows)
        if rows > 1:
            first.add(row * len(tensor) // rows)
        written.append(_write_outliers(flat[row * length : (row + 1) * length], drawn, generator))
        return True

    changed, any_changed = _changed(arguments, structure, change)
    return FewRows(changed, sorted(first), written) if any_changed or isinstance(arguments, FewRows) else changed


def _write_outliers(row: torch.Tensor, drawn: random.Random, generator: torch.Generator) -> _Written:
    """Make a few elements of a flat row large, and return what they were."""
    energy = drawn.uniform(*ENERGY)
    count = round(2.0 ** drawn.uniform(0.0, math.log2(max(len(row) // OUTLIER_SHARE, 1))))
    count = max(count, math.ceil(energy * len(row) / LARGEST_OUTLIER**2))
    wide = torch.float64 if row.dtype == torch.float64 else torch.float32
    size = torch.linalg.vector_norm(row, dtype=wide) * math.sqrt(energy / count)
    if row.dtype == torch.float16:
        size = size.clamp_max(LARGEST_HALF / (1 + SPREAD / 2))
    sizes = size * (1 + SPREAD * ((torch.arange(count, device=row.device) + 0.5) / count - 0.5))
    positions = torch.randint(len(row), (count,), device=row.device, generator=generator)
    values = row[positions]
    row[positions] = values.sign() * sizes.to(row.dtype)
    return row, positions, values


def _rows_of(tensor: torch.Tensor) -> Iterator[tuple[torch.Tensor, int | None]]:
    """The tensor as rows: of its first dimension, of its first two together, and so on; then of each further dimension by itself. Each
    with how many rows an index of dimension 0 has; None where a row belongs to all."""
    for count in range(1, max(tensor.dim(), 2)):
        yield tensor.view(math.prod(tensor.shape[:count]), -1), math.prod(tensor.shape[1:count])
    for dimension in range(1, tensor.dim()):
        yield tensor.movedim(dimension, 0), None


def _changed(
    arguments: Sequence[Any], structure: InputStructure | None, change: Callable[[torch.Tensor, Kind], bool]
) -> tuple[list[Any], bool]:
    """Arguments whose inputs were given to `change` where their elements may be multiplied; and whether one was changed."""
    tensors = [tensor for _, tensor in tensors_of(list(arguments))]
    kinds = structure.kinds if structure else (Kind.FREE,) * len(tensors)
    tied = structure.tied if structure else frozenset[int]()
    any_changed = False
    for number, kind in enumerate(kinds):
        tensor = tensors[number]
        if kind in (Kind.FREE, Kind.POSITIVE) and number not in tied and tensor.dtype in CHANGED_TYPES and tensor.dim() and tensor.numel():
            tensors[number] = tensor.contiguous()
            any_changed = change(tensors[number], kind) or any_changed
    given = iter(tensors)
    return [mapped(value, lambda _: next(given)) for value in arguments], any_changed
