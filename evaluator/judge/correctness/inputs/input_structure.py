"""What is special about a problem's inputs, as three draws and the text of get_inputs() show: so that a change can leave it as it is."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations

import torch

from evaluator.judge.correctness.inputs.positive_inputs import positive_positions
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.problem import ProblemCase
from evaluator.worker.structure import tensors_of

DRAWS = 3
SAMPLE_ELEMENTS = 1 << 20
"""Elements of an input that are looked at."""
SQUARE = 512
"""Rows and columns of a square matrix that are looked at."""
MAX_LEVELS = 16
"""An input with no more different values holds marks, such as a mask or targets."""
CLOSE = 1e-3
"""How far sums and norms of float32 may be from one, and of narrower types eight of their roundings."""
MIN_LINE = 2
"""Elements of the shortest line whose sum, norm or order means something."""
MIN_SORTED = 8
MANY = 1000
OFF_ZERO = 0.01
_KNOWN: dict[tuple[object, ...], "InputStructure"] = {}


class Kind(Enum):
    """What a change may do to an input."""

    FREE = "its elements may change one by one"
    POSITIVE = "it may be multiplied by positive numbers"
    SORTED = "its rows may be multiplied by positive numbers, a row by one"
    SYMMETRIC = "it may be multiplied from both sides by the same diagonal matrix"
    FIXED = "it stays as it is"


class Relation(Enum):
    """What an input is to an earlier one."""

    EQUAL = "equal to it"
    TRANSPOSED = "its transpose"
    ORDERED = "nowhere below it, or nowhere above it"


@dataclass(frozen=True)
class Tie:
    """Input number `of` depends on number `to`, an earlier one."""

    of: int
    to: int
    relation: Relation


@dataclass(frozen=True)
class InputStructure:
    """The kind of each tensor among the arguments, in their order, and how some depend on others."""

    kinds: tuple[Kind, ...]
    ties: tuple[Tie, ...] = ()

    @property
    def tied(self) -> frozenset[int]:
        """Inputs that depend on another one, or that another one depends on."""
        return frozenset(number for tie in self.ties for number in (tie.of, tie.to))

    @property
    def is_fixed(self) -> bool:
        """Whether no input may change."""
        return all(kind is Kind.FIXED for kind in self.kinds)

    def keeping_signs(self) -> "InputStructure":
        """The same, where inputs whose signs might change may only be multiplied by positive numbers."""
        return InputStructure(tuple(Kind.POSITIVE if kind is Kind.FREE else kind for kind in self.kinds), self.ties)


def structure_of(case: ProblemCase, device: torch.device) -> InputStructure:
    """The structure of the case's inputs; found once in a process. Raises ProblemError."""
    key = (case.problem.sha256, case.name, tuple(map(repr, sorted(case.constants.items()))), case.dtype_name, str(device))
    if key not in _KNOWN:
        _KNOWN[key] = _found(case, device)
    return _KNOWN[key]


@dataclass(frozen=True)
class _Sample:
    """Parts of one input."""

    rows: torch.Tensor
    """Whole rows, the first of them."""
    corner: torch.Tensor
    """The first rows and columns of its matrices."""
    shape: torch.Size

    @classmethod
    def of(cls, tensor: torch.Tensor) -> "_Sample":
        """Numbers of eight bits as their bytes, which nothing changes: PyTorch computes little with them."""
        tensor = tensor.view(torch.uint8) if tensor.is_floating_point() and tensor.itemsize == 1 else tensor
        return cls(
            _first_rows(tensor).clone(),
            _first_rows(tensor[..., :SQUARE, :SQUARE]).clone() if tensor.dim() > 1 else tensor.new_empty(0),
            tensor.shape,
        )


def _first_rows(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() == 0 or tensor.numel() <= SAMPLE_ELEMENTS:
        return tensor
    return tensor[: max(SAMPLE_ELEMENTS * len(tensor) // tensor.numel(), 1)]


def _found(case: ProblemCase, device: torch.device) -> InputStructure:
    draws: list[list[_Sample]] = []
    positions: list[int] = []
    for _ in range(DRAWS):
        arguments = case.inputs(fresh_seed(), device)
        draws.append([_Sample.of(tensor) for _, tensor in tensors_of(arguments)])
        positions = [position for position, argument in enumerate(arguments) for _ in tensors_of(argument)]
    positive = positive_positions(case.problem.source)
    columns = list(zip(*draws, strict=True))
    # Beside inputs that vary, one that never does is a table. Where none varies, a change is all that tells a kept answer.
    constant = [all(torch.equal(samples[0].rows, other.rows) for other in samples[1:]) for samples in columns]
    kinds = [
        Kind.FIXED if is_constant and not all(constant) else _kind(samples, is_made_positive=position in positive)
        for samples, position, is_constant in zip(columns, positions, constant, strict=True)
    ]
    ties = tuple(_ties(columns, kinds))
    for tie in ties:
        # Of two that change as one, neither may change in a way that the other must not.
        if tie.relation is not Relation.ORDERED and kinds[tie.of] is not kinds[tie.to]:
            kinds[tie.of] = kinds[tie.to] = Kind.POSITIVE if {kinds[tie.of], kinds[tie.to]} == {Kind.FREE, Kind.POSITIVE} else Kind.FIXED
    return InputStructure(tuple(kinds), ties)


def _kind(samples: Sequence[_Sample], *, is_made_positive: bool) -> Kind:
    first = samples[0].rows
    if not first.is_floating_point() or first.numel() < MIN_LINE:
        return Kind.FIXED
    wide = [sample.rows.double() for sample in samples]
    if any(_holds_marks(sample) for sample in wide):
        return Kind.FIXED
    close = max(CLOSE, 8 * torch.finfo(first.dtype).eps)
    if all(_is_normalized(values, close, is_whole=values.shape == sample.shape) for values, sample in zip(wide, samples, strict=True)):
        return Kind.FIXED
    if all(_is_symmetric(sample) for sample in samples):
        return Kind.SYMMETRIC
    if all(_is_sorted(sample) for sample in wide):
        return Kind.SORTED
    is_positive = all(map(_keeps_off_zero, wide)) or (is_made_positive and all(bool((sample >= 0).all()) for sample in wide))
    return Kind.POSITIVE if is_positive else Kind.FREE


def _holds_marks(values: torch.Tensor) -> bool:
    """Few levels, or whole numbers alone: zeros beside others are a mask over them, and say nothing."""
    others = values[values != 0]
    if not len(others) or not bool(others.isfinite().all()):
        return True
    return bool((others == others.round()).all()) or len(torch.unique(others)) <= min(MAX_LEVELS, len(others) // 2)


def _is_normalized(values: torch.Tensor, close: float, *, is_whole: bool) -> bool:
    """Whether sums, sums of exponentials or norms along a dimension, or of everything, are one. is_whole: no row has been left out."""

    def is_one(numbers: torch.Tensor) -> bool:
        return bool(((numbers - 1).abs() <= close).all())

    checks: list[Callable[[torch.Tensor, tuple[int, ...]], torch.Tensor]] = [lambda value, dims: value.square().sum(dims).sqrt()]
    if bool((values >= 0).all()):
        checks.append(lambda value, dims: value.sum(dims))
    if bool((values <= 0).all()):
        checks.append(lambda value, dims: value.exp().sum(dims))
    dims = [(dim,) for dim in range(values.dim()) if values.shape[dim] >= MIN_LINE and (dim or is_whole)]
    return any(is_one(check(values, each)) for each in (*dims, *([tuple(range(values.dim()))] if is_whole else [])) for check in checks)


def _is_symmetric(sample: _Sample) -> bool:
    """Symmetric, and not merely diagonal."""
    if len(sample.shape) < 2 or sample.shape[-1] != sample.shape[-2] or sample.shape[-1] < MIN_LINE:
        return False
    square = sample.corner.double()
    return bool(torch.allclose(square, square.mT, rtol=1e-5, atol=1e-7)) and bool(square.triu(1).any())


def _is_sorted(values: torch.Tensor) -> bool:
    if not values.dim() or values.shape[-1] < MIN_SORTED:
        return False
    steps = values.diff(dim=-1)
    return bool((steps >= 0).all()) or bool((steps <= 0).all())


def _keeps_off_zero(values: torch.Tensor) -> bool:
    """Whether the least of many numbers is a hundredth of the largest and more: where they begin at zero, some are closer to it."""
    return values.numel() >= MANY and float(values.min()) > OFF_ZERO * float(values.max())


def _ties(columns: Sequence[Sequence[_Sample]], kinds: Sequence[Kind]) -> Iterator[Tie]:
    """The inputs that depend on an earlier one, each once."""
    tied: set[int] = set()
    for to, of in combinations(range(len(kinds)), 2):
        if tied & {of, to} or Kind.FIXED in (kinds[of], kinds[to]):
            continue
        relation = _relation(list(zip(columns[to], columns[of], strict=True)))
        if relation is not None:
            tied.add(of)
            yield Tie(of, to, relation)


def _relation(pairs: Sequence[tuple[_Sample, _Sample]]) -> Relation | None:
    one, other = pairs[0]
    may_be_transposed = len(one.shape) > 1 and one.shape[:-2] == other.shape[:-2] and one.shape[-2:] == other.shape[-2:][::-1]
    if may_be_transposed and all(torch.equal(left.corner.mT, right.corner) for left, right in pairs):
        return Relation.TRANSPOSED
    if one.shape != other.shape:
        return None
    if all(torch.equal(left.rows, right.rows) for left, right in pairs):
        return Relation.EQUAL
    below = all(bool((left.rows <= right.rows).all()) for left, right in pairs)
    above = all(bool((left.rows >= right.rows).all()) for left, right in pairs)
    return Relation.ORDERED if one.rows.numel() >= MIN_SORTED and (below or above) else None
