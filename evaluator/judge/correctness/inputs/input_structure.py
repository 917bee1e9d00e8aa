"""Finds structure in a problem's inputs, from three samples and the text of get_inputs(), so that changes preserve it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations

import torch

from evaluator.judge.correctness.inputs.positive_inputs import positive_positions
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.problem import ProblemCase
from evaluator.worker.nested import tensors

FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)
"""Types of eight bits that may change."""
DRAWS = 3
SAMPLE_ELEMENTS = 1 << 20
"""Maximum elements of an input that are examined."""
SQUARE = 512
"""Maximum rows and columns of a square matrix that are examined."""
MAX_LEVELS = 16
"""An input with at most this many different values holds marks, such as a mask or targets."""
CLOSE = 1e-3
"""Sums and norms in float32 count as one up to this difference; in half precision up to eight roundings, in eight bits up to one."""
MIN_LINE = 2
"""Minimum elements of a line for its sum, norm or order to mean something."""
MIN_SORTED = 8
MANY = 1000
OFF_ZERO = 0.01
_KNOWN: dict[tuple[object, ...], "InputStructure"] = {}


class Kind(Enum):
    """The changes that an input allows."""

    FREE = "its elements may change one by one"
    POSITIVE = "it may be multiplied by positive numbers"
    SORTED = "each row may be multiplied by one positive number"
    SYMMETRIC = "it may be multiplied from both sides by the same diagonal matrix"
    FIXED = "it stays as it is"


class Relation(Enum):
    """The relation of an input to an earlier one."""

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
    """The kind of each tensor among the arguments, in order, and the dependencies between them."""

    kinds: tuple[Kind, ...]
    ties: tuple[Tie, ...] = ()

    @property
    def tied(self) -> frozenset[int]:
        """Inputs that depend on another one, or that another one depends on."""
        return frozenset(number for tie in self.ties for number in (tie.of, tie.to))

    def keeping_signs(self) -> "InputStructure":
        """This structure, but inputs whose signs might change may only be multiplied by positive numbers."""
        return InputStructure(tuple(Kind.POSITIVE if kind is Kind.FREE else kind for kind in self.kinds), self.ties)


def structure_of(case: ProblemCase, device: torch.device) -> InputStructure:
    """The structure of the case's inputs, found once per process. Raises ProblemError."""
    key = (case.problem.sha256, case.name, tuple(map(repr, sorted(case.constants.items()))), case.dtype_name, str(device))
    if key not in _KNOWN:
        _KNOWN[key] = _found(case, device)
    return _KNOWN[key]


@dataclass(frozen=True)
class _Sample:
    """Parts of one input."""

    rows: torch.Tensor
    """The first rows, complete."""
    corner: torch.Tensor
    """The first rows and columns of its matrices."""
    shape: torch.Size
    close: float
    """How near to one its sums and norms are if it was normalized."""

    @classmethod
    def of(cls, tensor: torch.Tensor) -> "_Sample":
        """The sample of a tensor. Eight-bit numbers are taken as float32, since PyTorch computes little with them. Types that are never
        changed are taken as bytes."""
        corner = _first_rows(tensor[..., :SQUARE, :SQUARE]) if tensor.dim() > 1 else tensor.new_empty(0)
        rows, corner = (_comparable(each) for each in (_first_rows(tensor), corner))
        roundings = 0.5 if tensor.dtype in FLOAT8 else 8.0
        close = max(CLOSE, roundings * torch.finfo(tensor.dtype).eps) if tensor.is_floating_point() else 0.0
        return cls(rows, corner, tensor.shape, close)


def _comparable(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of a type that PyTorch compares."""
    if tensor.dtype in FLOAT8:
        return tensor.float()
    return (tensor.view(torch.uint8) if tensor.is_floating_point() and tensor.itemsize == 1 else tensor).clone()


def _first_rows(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() == 0 or tensor.numel() <= SAMPLE_ELEMENTS:
        return tensor
    return tensor[: max(SAMPLE_ELEMENTS * len(tensor) // tensor.numel(), 1)]


def _found(case: ProblemCase, device: torch.device) -> InputStructure:
    draws: list[list[_Sample]] = []
    positions: list[int] = []
    for _ in range(DRAWS):
        arguments = case.inputs(fresh_seed(), device)
        draws.append([_Sample.of(tensor) for tensor in tensors(arguments)])
        positions = [position for position, argument in enumerate(arguments) for _ in tensors(argument)]
    positive = positive_positions(case.problem.source)
    columns = list(zip(*draws, strict=True))
    # Beside inputs that vary, a constant one is a table, but not one from a file. If none varies, only a change reveals a cached output.
    constant = [
        position not in case.stored and all(torch.equal(samples[0].rows, other.rows) for other in samples[1:])
        for samples, position in zip(columns, positions, strict=True)
    ]
    kinds = [
        Kind.FIXED if is_constant and not all(constant) else _kind(samples, is_made_positive=position in positive)
        for samples, position, is_constant in zip(columns, positions, constant, strict=True)
    ]
    ties = tuple(_ties(columns, kinds))
    for tie in ties:
        # Two inputs that change together may change only in ways that both allow.
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
    if all(
        _is_normalized(values, sample.close, is_whole=values.shape == sample.shape) for values, sample in zip(wide, samples, strict=True)
    ):
        return Kind.FIXED
    if all(_is_symmetric(sample) for sample in samples):
        return Kind.SYMMETRIC
    if all(_is_sorted(sample) for sample in wide):
        return Kind.SORTED
    is_positive = all(map(_keeps_off_zero, wide)) or (is_made_positive and all(bool((sample >= 0).all()) for sample in wide))
    return Kind.POSITIVE if is_positive else Kind.FREE


def _holds_marks(values: torch.Tensor) -> bool:
    """Whether there are few values, or only whole numbers. Zeros beside other values are a mask over them, and are ignored."""
    others = values[values != 0]
    if not len(others) or not bool(others.isfinite().all()):
        return True
    return bool((others == others.round()).all()) or len(torch.unique(others)) <= min(MAX_LEVELS, len(others) // 2)


def _is_normalized(values: torch.Tensor, close: float, *, is_whole: bool) -> bool:
    """Whether sums, sums of exponentials or norms along a dimension, or of everything, are one. is_whole: the sample has all rows."""

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
    """Whether the smallest of many numbers is at least 1 % of the largest. If their range began at zero, some would be smaller."""
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
