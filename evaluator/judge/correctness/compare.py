"""Is an output as close to the float64 oracle as honest arithmetic in its dtype is?

The error of an element is |value - oracle| / (|oracle| + scale), where scale is the root mean square of the oracle's tensor, or of the
row where rows are independent. So the bound follows the output's own magnitude, and a tensor of zeros is wrong by about one half
however small the right answer is. The bound on the largest error is the larger of a floor for the dtype and a factor times the error
that the reference itself makes in that dtype; in half precision it ends where the next narrower type would have room.

Integers and booleans are right where they equal the oracle's, exactly. Where one hangs on rounding (a number just below a whole one, two
that all but tie) the reference in the submission's dtype gives itself away by another answer than the oracle's: there either is right.
Another submission, rounding in another order, slips at other elements of the kind: as many as a small multiple of the reference's may be
off, by no more than the reference's are. Where the reference never slips, nobody may; where it slips often, only its own slips are excused.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from evaluator.judge.correctness import compare_cuda
from evaluator.judge.correctness.errors.describe import ErrorDescription
from evaluator.results.category import Category
from evaluator.results.evidence import ErrorFigures, WrongElement

FLOOR = {torch.float64: 1e-11, torch.float32: 4e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
"""Tolerance that every answer in a dtype is granted: about 340 ulp of a float32 (a sequential sum of 400,000 terms errs by 1e-5 and more),
2 of a float16 or bfloat16, whose rounding of intermediates dominates. Half precision posing as float32 errs by 2e-4 and more."""
REFERENCE_FACTOR = 8.0
"""How much worse than the reference in the same dtype an answer may be."""
WIDEST = {torch.float16: 5.0, torch.bfloat16: 4.0}
"""Floors beyond which the reference's error does not widen the bound by as much. In half precision the largest of millions of errors, each
of a few roundings, is some 1.5 floors: the reference was not lucky then, and eight times that is what rounding to eight bits costs. Where
the reference errs by 0.7 floors, attention whose scores are rounded errs by up to 17 and is honest (20 are allowed, by its tolerance of 4);
rounding to the next narrower type errs by 21 and more."""
LEAST_REFERENCE_FACTOR = 2.0
"""How much worse than the reference an answer may be however far off that is: the largest error of as many others."""
PRECISION_LOSS_BOUND = 1e-2
"""An answer that is wrong by no more than this, or than REFERENCE_FACTOR times what the reference is, has lost precision; one that is wrong
by more is simply wrong."""
UNINFORMATIVE_FACTOR = 2.5
"""A reference that errs by more than this many floors has no right answer to give: nobody is judged on it."""
SLIP_FACTOR = 4
"""How many exact elements may be off, for each in which the reference in the same dtype disagrees with the oracle."""
UNINFORMATIVE_SHARE = 1e-3
"""A reference that disagrees with the oracle in more exact elements than this share has no right answer to give either."""
MAX_EXAMPLES = 3
"""Wrong elements that are noted, besides the worst."""
CHUNK_ELEMENTS = 1 << 25
"""Elements compared at a time: 256 MiB in float64."""
LEAST_FUSED_ELEMENTS = 1 << 20
"""Below this the operators of PyTorch take a millisecond, and compiling kernels for a dtype some hundreds of them."""
MIN_ROW_ELEMENTS = 16
"""Below this a row is too short for a root mean square of its own."""


@dataclass(frozen=True)
class Piece:
    """Part of one output: the rows from `start`, of candidate, reference (same dtype) and oracle (float64), all of one shape."""

    start: int
    candidate: torch.Tensor
    reference: torch.Tensor
    oracle: torch.Tensor


def floor_of(dtype: torch.dtype) -> float:
    """The tolerance that every answer in this dtype is granted."""
    if dtype.is_complex:
        dtype = dtype.to_real()
    return FLOOR[dtype] if dtype in FLOOR else 2 * torch.finfo(dtype).eps


def bound_of(dtype: torch.dtype, reference_error: float) -> float:
    """What the largest error of an answer in this dtype may be, where the reference's is `reference_error`."""
    floor = floor_of(dtype)
    bound = REFERENCE_FACTOR * reference_error
    if dtype in WIDEST:
        bound = min(bound, max(WIDEST[dtype] * floor, LEAST_REFERENCE_FACTOR * reference_error))
    return max(floor, bound)


def is_exact(dtype: torch.dtype) -> bool:
    """Whether outputs of this dtype are compared exactly."""
    return not (dtype.is_floating_point or dtype.is_complex)


def has_row_scale(shape: torch.Size, rows_independent: bool) -> bool:
    """Whether an output of this shape is judged on each row's own scale."""
    return rows_independent and len(shape) > 1 and shape[1:].numel() >= MIN_ROW_ELEMENTS


class Comparison:
    """The comparison of one output: `measure` all pieces, then, if it did not pass, `locate` them all; `figures` at the end.

    Pieces come one at a time, so that no more than a piece of the oracle need exist. An output without row scale comes in one piece.
    """

    def __init__(self, name: str, shape: torch.Size, dtype: torch.dtype, rows_independent: bool, factor: float) -> None:
        """`factor` is the problem's own, on the bound."""
        self._name, self._dtype, self._factor = name, dtype, factor
        self._shape = torch.Size([*shape, 2]) if dtype.is_complex else shape
        self._by_row = has_row_scale(shape, rows_independent)
        self._max_error = self._reference_error = 0.0
        self._squared_error = self._squared_oracle = 0.0
        self._wrong = self._nonfinite_mismatch = self._reference_mismatch = 0
        self._slips = self._reference_slips = 0
        """Exact elements that are neither the oracle's nor the reference's, and such of the reference that are not the oracle's."""
        self._excused = False
        self._portrait = ErrorDescription(self._shape, dtype)
        self._examples: list[WrongElement] = []
        self._worst: tuple[float, WrongElement] | None = None

    @property
    def informative(self) -> bool:
        """Whether the reference itself is accurate enough here for its answer to say anything about another's."""
        if is_exact(self._dtype):
            return self._reference_slips <= UNINFORMATIVE_SHARE * self._shape.numel()
        return self._reference_error <= UNINFORMATIVE_FACTOR * floor_of(self._dtype) and self._reference_mismatch == 0

    @property
    def tolerance(self) -> float:
        """The bound on the largest error, once all pieces have been measured."""
        if self._excused:
            return self._max_error
        if is_exact(self._dtype):
            excused = SLIP_FACTOR * self._reference_slips if self.informative else 0
            return self._reference_error if self._slips <= excused else 0.0
        return self._factor * bound_of(self._dtype, self._reference_error)

    @property
    def passed(self) -> bool:
        return self._max_error <= self.tolerance

    def excuse(self) -> None:
        """Let pass what hangs on less than the inputs' precision."""
        self._excused = True

    @property
    def category(self) -> Category:
        """Why it did not pass."""
        if self._nonfinite_mismatch:
            return Category.NAN_OR_INF
        lost = max(PRECISION_LOSS_BOUND, self._factor * REFERENCE_FACTOR * self._reference_error)
        return Category.PRECISION_LOSS if not is_exact(self._dtype) and self._max_error <= lost else Category.WRONG_VALUES

    def measure(self, piece: Piece) -> None:
        """Add a piece to the largest and the mean errors of candidate and reference."""
        if self._measure_fused(piece):
            return
        for _, candidate, reference, oracle, scale in self._chunks(piece):
            reference_error = self._errors(reference, oracle, scale)
            error = self._candidate_errors(candidate, reference, oracle, scale)
            self._max_error = max(self._max_error, float(error.max()))
            self._reference_error = max(self._reference_error, _largest_finite(reference_error))
            if is_exact(self._dtype):
                self._slips += int(error.count_nonzero())
                self._reference_slips += int(reference_error.count_nonzero())
            self._reference_mismatch += int(reference_error.isinf().sum())
            self._nonfinite_mismatch += int((error.isinf() & ~(candidate.isfinite() & oracle.isfinite())).sum())
            self._squared_error += _energy(candidate - oracle)
            self._squared_oracle += _energy(oracle)

    def _measure_fused(self, piece: Piece) -> bool:
        """Add a large piece on a GPU at the speed of its memory; False, with nothing added, where that can't be done."""
        if is_exact(self._dtype) or not piece.oracle.is_cuda or piece.oracle.numel() < LEAST_FUSED_ELEMENTS:
            return False
        candidate, reference, oracle = self._parts(piece)
        measured = compare_cuda.measure(candidate, reference, oracle, len(oracle) if self._by_row else 1)
        if measured is None:
            return False
        self._max_error = max(self._max_error, measured.largest_error)
        self._reference_error = max(self._reference_error, measured.largest_reference_error)
        self._reference_mismatch += measured.infinite_reference_errors
        self._nonfinite_mismatch += measured.nonfinite_mismatches
        self._squared_error += measured.squared_error
        self._squared_oracle += measured.squared_oracle
        return True

    def locate(self, piece: Piece) -> None:
        """Count the wrong elements of a piece, and note how they lie, what they are like, the first of them and the worst."""
        for start, candidate, reference, oracle, scale in self._chunks(piece):
            error = self._candidate_errors(candidate, reference, oracle, scale).flatten()
            wrong = error > self.tolerance
            self._wrong += int(wrong.sum())
            self._portrait.add(start, candidate.flatten(), oracle.flatten(), error, wrong, self.tolerance)
            if not bool(wrong.any()):
                continue
            for position in wrong.nonzero().flatten()[: MAX_EXAMPLES - len(self._examples)].tolist():
                self._examples.append(self._element(start, position, candidate, oracle))
            worst = int(error.argmax())
            if self._worst is None or float(error[worst]) > self._worst[0]:
                self._worst = float(error[worst]), self._element(start, worst, candidate, oracle)

    def _element(self, start: int, position: int, candidate: torch.Tensor, oracle: torch.Tensor) -> WrongElement:
        value, expected = (float(tensor.flatten()[position]) for tensor in (candidate, oracle))
        return WrongElement(index=_unravel(start + position, self._shape), value=value, expected=expected)

    def figures(self) -> ErrorFigures:
        """What is stored of this output."""
        elements = self._shape.numel()
        rms = math.sqrt(self._squared_error / self._squared_oracle) if self._squared_oracle else math.sqrt(self._squared_error)
        first = self._examples[0] if self._examples else None
        worst = self._worst[1] if self._worst else None
        return ErrorFigures(
            output=self._name,
            elements=elements,
            wrong=self._wrong,
            max_error=self._max_error,
            rms_error=rms,
            tolerance=self.tolerance,
            reference_error=self._reference_error,
            first_index=first.index if first else None,
            first_value=first.value if first else None,
            first_expected=first.expected if first else None,
            pattern=self._portrait.pattern(),
            nonfinite_mismatch=self._nonfinite_mismatch,
            likeness=self._portrait.likeness(),
            examples=tuple({element.index: element for element in (*self._examples, *([worst] if worst else []))}.values()),
            error_map=self._portrait.error_map(),
        )

    def _candidate_errors(
        self, candidate: torch.Tensor, reference: torch.Tensor, oracle: torch.Tensor, scale: torch.Tensor
    ) -> torch.Tensor:
        """Error of each element; exact ones have none where they are the reference's."""
        error = self._errors(candidate, oracle, scale)
        return torch.where(candidate == reference, 0.0, error) if is_exact(self._dtype) else error

    def _errors(self, value: torch.Tensor, oracle: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        """Error of each element; infinite where one is NaN or infinite and the other is not the same."""
        if is_exact(self._dtype):
            # In float64, where int64 would overflow; what differs by less than float64 can tell differs by one at least.
            error = (value.double() - oracle.double()).abs().clamp_min(1.0)
        else:
            error = (value - oracle).abs() / (oracle.abs() + scale)
        same = (value == oracle) | (value.isnan() & oracle.isnan())
        return torch.where(same, 0.0, error).nan_to_num(nan=math.inf, posinf=math.inf)

    def _parts(self, piece: Piece) -> list[torch.Tensor]:
        """Candidate, reference and oracle as rows of real numbers."""
        return [_rows(tensor, self._by_row) for tensor in (piece.candidate, piece.reference, piece.oracle)]

    def _chunks(self, piece: Piece) -> Iterator[tuple[int, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]]:
        """Chunks as rows, in float64 (int64 where compared exactly): position of the first element, candidate, reference, oracle, scale."""
        parts = self._parts(piece)
        kind = torch.int64 if is_exact(self._dtype) else torch.float64
        row_elements = parts[0].shape[1]
        rows = max(CHUNK_ELEMENTS // max(row_elements, 1), 1)
        whole = None if self._by_row else _rms(parts[2])
        for row in range(0, parts[0].shape[0], rows):
            candidate, reference, oracle = (part[row : row + rows].to(kind) for part in parts)
            scale = _finite(oracle.double()).square().mean(1, keepdim=True).sqrt() if whole is None else whole
            yield (piece.start + row) * row_elements, candidate, reference, oracle, scale


def _rows(tensor: torch.Tensor, by_row: bool) -> torch.Tensor:
    """As a matrix: one line a row, or one element a line where the scale is the whole tensor's."""
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return tensor.flatten(1) if by_row else tensor.reshape(-1, 1)


def _finite(tensor: torch.Tensor) -> torch.Tensor:
    return torch.where(tensor.isfinite(), tensor, 0.0)


def _energy(tensor: torch.Tensor) -> float:
    return float(_finite(tensor.double()).square().sum())


def _rms(tensor: torch.Tensor) -> torch.Tensor:
    energy = math.fsum(_energy(chunk) for chunk in torch.split(tensor, CHUNK_ELEMENTS))
    return torch.tensor(energy / max(tensor.numel(), 1), dtype=torch.float64, device=tensor.device).sqrt()


def _largest_finite(error: torch.Tensor) -> float:
    return float(_finite(error).max())


def _unravel(position: int, shape: torch.Size) -> tuple[int, ...]:
    index = []
    for size in reversed(shape):
        index.append(position % size)
        position //= size
    return tuple(reversed(index))
