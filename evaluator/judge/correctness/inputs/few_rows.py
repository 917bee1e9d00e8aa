"""Changes to few of a draw's values, which no sample of them tells.

`rows` makes a few rows of a draw smaller: who answers the problem's own draws by something that is right for them alone, and looks at some
values to tell them, takes this draw for one of those. `runs` changes a few runs of neighbouring elements of the inputs that were given
last, where they are: who keeps something of an input for as long as some of its values stay, answers for the old ones.

Both only multiply, as `signs` and `scaled` do, and change no input that those leave as it is.
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

ROWS, RUNS = "rows", "runs"
SHARE = 64
"""One in so many rows of a kind is changed, and one at the least."""
MOST_ROWS = 8
"""Of a kind. Each takes a kernel of its own."""
LEAST_ROWS = 8
"""What a tensor has fewer of are no rows: one of them would be much of it."""
OCTAVES = (1.0, 2.0)
"""A row is divided by two to the power of a number between these: larger values would show in a sample's maximum."""
RUNS_OF_EACH = 4
RUN_SHARE, LONGEST_RUN = 128, 64
"""A run has this share of the last dimension's elements, but no more than so many: few of them are in a sample, and a product of 16,384
terms changes by an eighth."""

_random = secrets.SystemRandom()


class FewRows(list[Any]):
    """Arguments of which a few values were changed."""

    def __init__(self, arguments: Sequence[Any], first: Sequence[int] = ()) -> None:
        """`first`: indices of dimension 0 that changed rows or elements belong to, where they don't belong to all."""
        super().__init__(arguments)
        self.first = tuple(first)


class FewChanges:
    """Both changes of a case's draws, where its inputs may be multiplied, and its problem is not without `scaled` or `signs`."""

    def __init__(self, case: ProblemCase, device: torch.device) -> None:
        """Raises ProblemError."""
        structure = None if case.any_inputs else structure_of(case, device)
        without = case.problem.declaration.without
        kinds = {kind for number, kind in enumerate(structure.kinds) if number not in structure.tied} if structure else {Kind.FREE}
        may_scale = "scaled" not in without and bool(kinds & {Kind.FREE, Kind.POSITIVE})
        may_flip = "signs" not in without and Kind.FREE in kinds
        self.names: tuple[str, ...] = (*((ROWS,) if may_scale else ()), *((RUNS,) if may_scale or may_flip else ()))
        """The changes that there are."""
        self._structure, self._flips = structure, may_flip

    def only(self, shown: Collection[str]) -> "FewChanges":
        """The same without the changes that are not among these names: of a round that was left out nothing is known."""
        fewer = copy.copy(self)
        fewer.names = tuple(name for name in self.names if name in shown)
        return fewer

    def rows(self, arguments: Sequence[Any], seed: int | None = None) -> list[Any]:
        """A draw with a few rows made smaller."""
        return with_smaller_rows(arguments, fresh_seed() if seed is None else seed, self._structure)

    def runs(self, arguments: Sequence[Any], seed: int | None = None) -> list[Any]:
        """Arguments with a few runs of elements changed."""
        return with_changed_runs(arguments, fresh_seed() if seed is None else seed, self._structure, flips=self._flips)

    def either(self, arguments: Sequence[Any]) -> list[Any]:
        """A draw with one of the changes, no matter which; as it is where there is none."""
        if not self.names:
            return list(arguments)
        return self.rows(arguments) if _random.choice(self.names) == ROWS else self.runs(arguments)


def with_smaller_rows(arguments: Sequence[Any], seed: int, structure: InputStructure | None = None) -> list[Any]:
    """A draw with a few rows of each input made smaller, in place where possible; as it is where no input may change. Rows are those of
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
    """The same arguments with a few runs of neighbouring elements changed, in place where possible: other signs if it `flips`, or halves,
    as where inputs are positive."""
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
