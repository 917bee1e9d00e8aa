"""Changes a few values of random inputs: too few for a sample to find.

`rows` makes a few rows of new inputs smaller, and changes the signs of a few runs of elements. `outliers` makes a few elements of the
previous inputs large, in place. If an output overflows from outliers, `runs` changes a few runs in place instead. A submission fails
if it recognises the problem's own inputs by some values, estimates a sum from some of its terms, or reuses a result while some values
stay the same. Only a submission that reads every element surely sees an outlier.

All three only multiply. They change only inputs that `signs` or `scaled` may change.
"""

import copy
import math
import random
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

import torch

from evaluator.chance import chance
from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.inputs.input_distributions import CHANGED_TYPES, computable
from evaluator.judge.correctness.inputs.input_structure import FLOAT8, InputStructure, Kind, structure_of
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.problem import ProblemCase
from evaluator.results.distributions import DISTRIBUTIONS, OUTLIERS, ROWS, RUNS, Rule
from evaluator.worker.nested import tensors, with_tensors

SHARE = 64
"""One row in SHARE is changed, but at least one."""
MOST_ROWS = 8
"""Maximum changed rows per dimension. Each needs a kernel launch."""
LEAST_ROWS = 8
"""Tensors with fewer rows are not changed: one row is a large share."""
OCTAVES = (0.2, 1.5)
"""A row is divided by 2**U(0.2, 1.5): its values stay within the range of the other rows, so a few values do not show the change."""
RUNS_OF_EACH = 4
RUN_SHARE, LONGEST_RUN = 128, 64
"""A run has 1/RUN_SHARE of the last dimension's elements, at most LONGEST_RUN: a sample has few of them, and a product of 16,384 terms
changes by an eighth."""
ENERGY = (0.5, 2.0)
"""The outliers' sum of squares is the row's, times a number in this range."""
OUTLIER_SHARE = 256
"""At least one element of a row becomes an outlier, at most one in OUTLIER_SHARE."""
SPREAD = 0.5
"""Range of a row's outliers, as a share of their mean: equal ones would tie for the maximum."""
MOST_KNOWN = 64
"""Outliers of a tensor whose rows are compared in any case."""
LARGEST_OUTLIER = 256.0
"""Maximum, as a multiple of the row's RMS. Language models have such activations."""
LARGEST_IN = {torch.float16: 128.0, **{dtype: torch.finfo(dtype).max for dtype in FLOAT8}}
"""The largest outlier in narrow types. Numbers of float16 end at 65504, and squares stay below that."""


class FewChanges:
    """The changes that a case allows: its inputs may be multiplied, and `without` does not list `scaled` or `signs`."""

    def __init__(self, case: ProblemCase, device: torch.device) -> None:
        """Raises ProblemError."""
        structure = None if case.any_inputs else structure_of(case, device)
        without = case.problem.declaration.without
        kinds = {kind for number, kind in enumerate(structure.kinds) if number not in structure.tied} if structure else {Kind.FREE}
        may_scale = "scaled" not in without and bool(kinds & {Kind.FREE, Kind.POSITIVE})
        may_flip = "signs" not in without and Kind.FREE in kinds
        self.names: tuple[str, ...] = (*((ROWS, OUTLIERS) if may_scale else ()), *((RUNS,) if may_scale or may_flip else ()))
        """Names of the changes."""
        self._structure = structure
        self._flips = self._flips_beside_rows = may_flip

    def only(self, shown: Collection[str]) -> "FewChanges":
        """A copy with only these changes, which the rounds passed. If `signs` is not among them, smaller rows keep their signs."""
        fewer = copy.copy(self) if "signs" in shown else self.keeping_signs()
        fewer.names = tuple(name for name in self.names if name in shown)
        return fewer

    @property
    def outliers(self) -> "FewChanges":
        """A copy with outliers alone."""
        return self.only({OUTLIERS})

    def keeping_signs(self) -> "FewChanges":
        """A copy that changes no signs beside smaller rows."""
        keeping = copy.copy(self)
        keeping._flips_beside_rows = False
        return keeping

    @property
    def in_place(self) -> str:
        """Name of the strongest change to the previous inputs, in place; empty if none."""
        return next((name for name in (OUTLIERS, RUNS) if name in self.names), "")

    def changed(self, name: str, draw: Draw, seed: int | None = None) -> Draw:
        """The inputs with the change of this name, in place where possible. They stay the problem's own if none may change."""
        seed = fresh_seed() if seed is None else seed
        if name == OUTLIERS:
            found = with_outliers(draw, seed, self._structure)
        elif name == RUNS:
            found = with_changed_runs(draw, seed, self._structure, flips=self._flips)
        else:
            found = with_smaller_rows(draw, seed, self._structure)
            if self._flips_beside_rows:
                found = with_changed_runs(found, seed, self._structure)
        if not found.is_few:
            return found
        return replace(found, distribution=name, rule=DISTRIBUTIONS[name].rule if self._structure else Rule.TOLERANCE)

    def either(self, draw: Draw) -> Draw:
        """Make some rows smaller, or make the strongest change in place, at random. Unchanged if no change is allowed."""
        names = [name for name in (ROWS, self.in_place) if name in self.names]
        return self.changed(chance.choice(names), draw) if names else draw


def with_smaller_rows(draw: Draw, seed: int, structure: InputStructure | None = None) -> Draw:
    """Make a few rows of each tensor smaller, in place if possible. Unchanged if none may change. Rows are slices along each
    dimension, and along the first few dimensions together."""
    drawn, first = random.Random(seed), set[int]()

    def change(tensor: torch.Tensor, _: Kind) -> bool:
        is_changed = False
        for rows, each in _rows_of(tensor):
            if len(rows) < LEAST_ROWS:
                continue
            is_changed = True
            for row in drawn.sample(range(len(rows)), min(max(len(rows) // SHARE, 1), MOST_ROWS)):
                with computable(rows[row]) as values:
                    values.mul_(2.0 ** -drawn.uniform(*OCTAVES))
                if each is not None:
                    first.add(row // each)
        return is_changed

    return replace(_changed(draw, ROWS, structure, change), changed_rows=tuple(sorted(first)))


def with_changed_runs(draw: Draw, seed: int, structure: InputStructure | None = None, *, flips: bool = True) -> Draw:
    """Change a few runs of neighbouring elements, in place if possible. `flips`: negate them. Otherwise, and if inputs are positive,
    halve them. Remove outliers of an earlier change first."""
    draw = without_outliers(draw)
    drawn, first = random.Random(seed), set(draw.changed_rows)

    def change(tensor: torch.Tensor, kind: Kind) -> bool:
        flat = tensor.view(-1)
        length = max(1, min(tensor.shape[-1] // RUN_SHARE, LONGEST_RUN))
        for _ in range(RUNS_OF_EACH):
            start = drawn.randrange(max(len(flat) - length, 0) + 1)
            with computable(flat[start : start + length]) as values:
                values.mul_(-1.0 if flips and kind is Kind.FREE else 0.5)
            each = len(flat) // len(tensor)
            first.update((start // each, (start + length - 1) // each))
        return True

    return replace(_changed(draw, RUNS, structure, change), changed_rows=tuple(sorted(first)))


def with_outliers(draw: Draw, seed: int, structure: InputStructure | None = None) -> Draw:
    """Make a few elements of each tensor large, in place where possible: in a row of dimension 0, in one of all dimensions but the last, or
    anywhere. Outliers of an earlier change are removed.

    Zeros stay, and signs do. How many elements become large, and how large, is random: few very large ones, or more that are less large.
    """
    draw = without_outliers(draw)
    drawn, first = random.Random(seed), set(draw.changed_rows)
    overwritten = []

    def change(tensor: torch.Tensor, _: Kind) -> bool:
        flat = tensor.view(-1)
        rows = drawn.choice((1, len(tensor), len(flat) // tensor.shape[-1]))
        length, row = len(flat) // rows, drawn.randrange(rows)
        outliers, positions = _write_outliers(flat[row * length : (row + 1) * length], drawn)
        overwritten.append(outliers)
        first.update((row * length + position) // (len(flat) // len(tensor)) for position in positions)
        return True

    changed = _changed(draw, OUTLIERS, structure, change)
    return replace(changed, changed_rows=tuple(sorted(first)), overwritten=tuple(overwritten))


def without_outliers(draw: Draw) -> Draw:
    """The inputs with the values that outliers replaced, in place."""
    for flat, positions, values in reversed(draw.overwritten):
        flat[positions] = values
    return replace(draw, overwritten=())


def _write_outliers(row: torch.Tensor, drawn: random.Random) -> tuple[tuple[torch.Tensor, torch.Tensor, torch.Tensor], list[int]]:
    """Make a few elements of a flat row large. Return what they were, and the positions of small and large ones among them.

    The positions are a random arithmetic progression: the judge knows them without waiting for the device.
    """
    energy = drawn.uniform(*ENERGY)
    count = round(2.0 ** drawn.uniform(0.0, math.log2(max(len(row) // OUTLIER_SHARE, 1))))
    count = max(count, math.ceil(energy * len(row) / LARGEST_OUTLIER**2))
    wide = torch.float64 if row.dtype == torch.float64 else torch.float32
    norm = torch.linalg.vector_norm(row.float() if row.dtype in FLOAT8 else row, dtype=wide)
    size = norm * math.sqrt(energy / count)
    if row.dtype in LARGEST_IN:
        size = size.clamp_max(LARGEST_IN[row.dtype] / (1 + SPREAD / 2))
    start, step = drawn.randrange(len(row)), drawn.randrange(len(row)) | 1
    numbers = torch.arange(count, device=row.device)
    sizes = size * (1 + SPREAD * ((numbers + 0.5) / count - 0.5))
    positions = (start + step * numbers) % len(row)
    known_step = math.ceil(count / MOST_KNOWN)
    held = row.view(torch.uint8) if row.dtype in FLOAT8 else row  # PyTorch 2.9 does not index the former on a CPU
    values = held[positions]
    held[positions] = (values.view(row.dtype).float().sign() * sizes).to(row.dtype).view(held.dtype)
    return (held, positions, values), [(start + step * number) % len(row) for number in range(count - 1, -1, -known_step)]


def _rows_of(tensor: torch.Tensor) -> Iterator[tuple[torch.Tensor, int | None]]:
    """Views as rows: along dimension 0, along the first two dimensions together, and so on; then along each further dimension. With
    each, the number of rows per index of dimension 0; None if a row spans all indices."""
    for count in range(1, max(tensor.dim(), 2)):
        yield tensor.view(math.prod(tensor.shape[:count]), -1), math.prod(tensor.shape[1:count])
    for dimension in range(1, tensor.dim()):
        yield tensor.movedim(dimension, 0), None


def _changed(draw: Draw, name: str, structure: InputStructure | None, change: Callable[[torch.Tensor, Kind], bool]) -> Draw:
    """Apply `change` to each input that may be multiplied. If one was changed, the distribution has this name."""
    given = tensors(draw.arguments)
    structure = structure or InputStructure((Kind.FREE,) * len(given))
    any_changed = False
    for number, kind in enumerate(structure.kinds):
        tensor = given[number]
        is_free = kind in (Kind.FREE, Kind.POSITIVE) and number not in structure.tied
        if is_free and tensor.dtype in CHANGED_TYPES and tensor.dim() and tensor.numel():
            given[number] = tensor.contiguous()
            any_changed = change(given[number], kind) or any_changed
    return replace(draw, arguments=with_tensors(draw.arguments, given), distribution=name if any_changed else draw.distribution)
