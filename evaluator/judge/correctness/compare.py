"""Compares one output with the float64 oracle: its largest error, and whether that is within the tolerance.

Errors are found chunk by chunk: by PyTorch's operators, or for large outputs on a GPU by the judge's own kernels (`compare_cuda`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields

import torch

from evaluator.judge import limits
from evaluator.judge.correctness import compare_cuda
from evaluator.judge.correctness.errors.describe import ErrorDescription
from evaluator.judge.correctness.errors.similarity import FactorFit
from evaluator.judge.correctness.output_scale import (
    Centre,
    Sums,
    chunk_elements,
    energy,
    finite,
    gross_errors,
    rms,
    row_centre,
    row_rms,
)
from evaluator.judge.correctness.tolerance import (
    accepts_zeros,
    allowed_error,
    base_tolerance,
    factor_in,
    has_row_scale,
    is_exact,
    is_float8,
    is_informative,
    is_informative_exact,
    is_precision_loss,
    precision,
)
from evaluator.problem.declaration import PrecisionName
from evaluator.results.category import Category
from evaluator.results.distributions import Rule
from evaluator.results.evidence import ErrorFigures, WrongElement

MAX_EXAMPLES = 3
"""Wrong elements that are stored, besides the worst."""
LEAST_FUSED_ELEMENTS = 1 << 20
"""For fewer elements PyTorch's operators take 1 ms. Compiling kernels for a dtype takes some 100 ms."""


HOPELESS_ERROR, HOPELESS_FACTOR = 0.25, 2.0


@dataclass(frozen=True)
class OutputPiece:
    """Part of one output: the rows from `start`, of candidate, reference (same dtype) and oracle (float64), all of one shape."""

    start: int
    candidate: torch.Tensor
    reference: torch.Tensor
    oracle: torch.Tensor
    rounded_to: torch.dtype | None = field(default=None, kw_only=True)
    """The narrowest type to which the reference rounded a value on the way here."""


@dataclass(frozen=True)
class Doubts:
    """The elements of an output that the comparison calls wrong: numbers of the elements in row-major order, all of shape (n,)."""

    positions: torch.Tensor
    values: torch.Tensor
    """In float64, or int64 where compared exactly."""
    allowed: torch.Tensor
    """How far each may be from a right value."""
    lowest: torch.Tensor
    highest: torch.Tensor
    """The range of the values that the reference took so far. There is none at first: the lowest is infinite."""

    def where(self, chosen: torch.Tensor) -> "Doubts":
        """Those that a mask or numbers choose."""
        return Doubts(*(getattr(self, each.name)[chosen] for each in fields(self)))

    @classmethod
    def joined(cls, parts: "Sequence[Doubts]") -> "Doubts":
        """Doubts of several pieces as one."""
        return cls(*(torch.cat([getattr(part, each.name) for part in parts]) for each in fields(cls)))


@dataclass(frozen=True)
class Rules:
    """Rules for all outputs of a comparison."""

    rows_independent: bool = False
    factor: float | Mapping[PrecisionName, float] = 1.0
    """The problem's factor on the tolerance, or that of each type; 1 for other types."""
    terms: int = 1
    """Terms of the longest sum behind an element."""
    rule: Rule = Rule.TOLERANCE


@dataclass(frozen=True)
class KnownErrors:
    """What was learnt so far of the reference's errors in one output, on inputs like the problem's own."""

    reference_error: float = 0.0
    """The largest error of the reference, where it was accurate enough to judge by."""
    tolerance: float = 0.0
    """The largest error that is allowed, therefore."""


class Comparison:
    """The comparison of one output: `measure` all pieces. If it `needs_location`, `locate` them all. Then take the `figures`.

    Pieces come one at a time, so only one piece of the oracle need exist. An output without row scales comes in one piece, or every slice
    of the oracle first goes to `weigh`.
    """

    def __init__(self, name: str, shape: torch.Size, dtype: torch.dtype, rules: Rules, known: KnownErrors | None = None) -> None:
        self._name, self._dtype, self._rules = name, dtype, rules
        self._known = known or KnownErrors()
        self._shape = torch.Size([*shape, 2]) if dtype.is_complex else shape
        self._by_row = has_row_scale(shape, rules.rows_independent)
        self._sums: Sums | None = None
        self._gross_error: float | None = None
        """The largest gross error beyond the tolerance, after `locate`; None unless only gross errors decide."""
        self._max_error = self._reference_error = 0.0
        self._squared_error = self._squared_oracle = 0.0
        self._usual_error = 0.0
        """The largest error of the reference within the base tolerance."""
        self._unusual = 0
        """Number of its errors beyond that."""
        self._wrong = self._beyond = self._nonfinite_mismatch = self._reference_mismatch = self._far = 0
        self.unwritten = 0
        """Wrong elements that consist of the byte that free memory was filled with, where that is known."""
        self._reference_slips = 0
        """Number of exact elements of the reference's that are unlike the oracle's."""
        self._precision = dtype
        """The type whose tolerance counts."""
        self._excused = False
        self._description = ErrorDescription(self._shape, dtype)
        self._fit = FactorFit()
        self._examples: list[WrongElement] = []
        self._worst: tuple[float, WrongElement] | None = None

    @property
    def elements(self) -> int:
        """Number of the output's elements; real and imaginary parts are elements of their own."""
        return self._shape.numel()

    @property
    def informative(self) -> bool:
        """Whether the reference itself is accurate enough here to judge others by."""
        if is_exact(self._dtype):
            return is_informative_exact(self._reference_slips, self._shape.numel())
        return is_informative(self._precision, self._reference_error, self._rules.terms) and self._reference_mismatch == 0

    @property
    def accepts_zeros(self) -> bool:
        """Whether the reference errs so much at an element that zeros pass."""
        return not is_exact(self._dtype) and accepts_zeros(self._precision, self._reference_error)

    @property
    def is_uncertain(self) -> bool:
        """Whether rounding decides on the output, after `count_far`."""
        return self.accepts_zeros and self._far >= max(limits.UNCERTAIN_SHARE * self._shape.numel(), limits.UNCERTAIN_ELEMENTS)

    @property
    def tolerance(self) -> float:
        """The largest error that is allowed, after all pieces were measured."""
        return self._max_error if self._excused else self._allowed(max(self._error_that_counts, self._known.reference_error))

    @property
    def known(self) -> KnownErrors:
        """What is known of the reference's errors, after all pieces were measured."""
        error = max(self._error_that_counts if self.informative else 0.0, self._known.reference_error)
        return KnownErrors(error, self._allowed(error))

    def _allowed(self, reference_error: float) -> float:
        """The largest error that is allowed if the reference errs by this much."""
        if is_exact(self._dtype):
            return 0.0
        return self._factor * allowed_error(self._precision, reference_error, self._rules.terms)

    @property
    def _factor(self) -> float:
        return factor_in(self._precision, self._rules.factor)

    @property
    def _base(self) -> float:
        return 0.0 if is_exact(self._dtype) else base_tolerance(self._precision, self._rules.terms)

    @property
    def _error_that_counts(self) -> float:
        """The reference's largest error; not that of a few elements which hang on a rounding."""
        few = self._unusual < limits.REFERENCE_SHARE * self._shape.numel()
        return self._usual_error if few else self._reference_error

    @property
    def max_error(self) -> float:
        """The largest error measured so far."""
        return self._max_error

    @property
    def _rms_error(self) -> float:
        return math.sqrt(self._squared_error / (self._squared_oracle or 1.0))

    @property
    def needs_location(self) -> bool:
        """Whether an element is beyond the tolerance."""
        return self._max_error > self.tolerance

    @property
    def passed(self) -> bool:
        """Whether no element is wrong. If only gross errors decide, this needs `locate` first."""
        return not self.needs_location or (self._gross_error is not None and self._wrong == 0)

    def excuse(self) -> None:
        """Let the output pass: rounding explains its differences."""
        self._excused = True

    @property
    def category(self) -> Category:
        """Why it did not pass, after `locate`. A constant factor is a mistake in the formula, even if it is close to 1."""
        if self._nonfinite_mismatch and not (self.is_gross and self._rules.rule is Rule.FINITE):
            return Category.NAN_OR_INF
        if self.is_gross or self._fit.factor is not None:
            return Category.WRONG_VALUES
        if is_exact(self._dtype) or not is_precision_loss(self._max_error, self._rms_error, self._reference_error, self._factor):
            return Category.WRONG_VALUES
        return Category.PRECISION_LOSS

    def weigh(self, oracle: torch.Tensor) -> None:
        """Add a slice of the oracle to the scale of the whole, before any piece is measured. Does nothing if rows have scales."""
        if not self._by_row and not is_exact(self._dtype):
            self._sums = self._sums or Sums()
            self._sums.add(torch.view_as_real(oracle) if oracle.is_complex() else oracle)

    def begun_again(self) -> "Comparison":
        """A comparison of another answer with the same oracle, by the same rules."""
        other = Comparison(self._name, self._shape[:-1] if self._dtype.is_complex else self._shape, self._dtype, self._rules, self._known)
        other.weigh_as(self)
        return other

    def weigh_as(self, other: "Comparison") -> None:
        """Use the scale of another comparison with the same oracle, which has been weighed."""
        self._sums = other._sums

    def is_hopeless(self, piece: OutputPiece, tolerance: float) -> bool:
        """Whether floating-point values of this piece exceed the `tolerance` known so far by far."""
        if is_exact(self._dtype):
            return False
        largest = max(float(self._errors(candidate, oracle, scale).max()) for _, candidate, _, oracle, scale in self._chunks(piece))
        return largest > max(HOPELESS_ERROR * self._factor, HOPELESS_FACTOR * tolerance)

    def count_far(self, piece: OutputPiece) -> None:
        """Count the elements of a piece at which the reference errs by more than limits.UNCERTAIN_ERROR."""
        for _, _, reference, oracle, scale in self._chunks(piece):
            self._far += int((self._errors(reference, oracle, scale) > limits.UNCERTAIN_ERROR).sum())

    def measure(self, piece: OutputPiece) -> None:
        """Add a piece to the largest and the mean errors of candidate and reference."""
        self._precision = precision(self._precision, piece.rounded_to)
        if self._measure_fused(piece):
            return
        is_reference = piece.candidate.is_set_to(piece.reference)
        for _, candidate, reference, oracle, scale in self._chunks(piece):
            reference_error = self._errors(reference, oracle, scale)
            error = reference_error
            if not is_reference or is_exact(self._dtype):
                error = self._candidate_errors(candidate, reference, oracle, scale)
            largest, reference_largest = float(error.max()), _largest_finite(reference_error)
            self._max_error = max(self._max_error, largest)
            self._reference_error = max(self._reference_error, reference_largest)
            usual_largest = reference_largest
            if reference_largest > self._base or not math.isfinite(float(reference_error.max())):
                usual = reference_error <= self._base
                usual_largest = float(torch.where(usual, reference_error, 0.0).max())
                self._unusual += usual.numel() - int(usual.sum())
                self._reference_mismatch += int(reference_error.isinf().sum())
            self._usual_error = max(self._usual_error, usual_largest)
            if is_exact(self._dtype):
                self._reference_slips += int(reference_error.count_nonzero())
            if math.isinf(largest):
                self._nonfinite_mismatch += int((error.isinf() & ~(candidate.isfinite() & oracle.isfinite())).sum())
            self._squared_error += energy(candidate - oracle)
            self._squared_oracle += energy(oracle)

    def _measure_fused(self, piece: OutputPiece) -> bool:
        """Measure a large piece with the judge's own GPU kernels. Returns False, with nothing added, if that is not possible."""
        if is_exact(self._dtype) or not piece.oracle.is_cuda or piece.oracle.numel() < LEAST_FUSED_ELEMENTS:
            return False
        candidate, reference, oracle = self._parts(piece)
        scale = self._sums.rms if self._sums else None
        measured = compare_cuda.measure(candidate, reference, oracle, len(oracle) if self._by_row else 1, scale)
        if measured is None or measured.largest_reference_error > self._base or measured.infinite_reference_errors:
            return False
        self._max_error = max(self._max_error, measured.largest_error)
        self._reference_error = max(self._reference_error, measured.largest_reference_error)
        self._usual_error = max(self._usual_error, measured.largest_reference_error)
        self._nonfinite_mismatch += measured.nonfinite_mismatches
        self._squared_error += measured.squared_error
        self._squared_oracle += measured.squared_oracle
        return True

    def doubts(self, piece: OutputPiece, most: int) -> Doubts | None:
        """The wrong elements of a piece, after all pieces were measured; None if there are more than `most`."""
        sums = self._gross_sums(piece)
        positions, values, allowed = [], [], []
        for start, candidate, reference, oracle, scale in self._chunks(piece):
            wrong = self._candidate_errors(candidate, reference, oracle, scale).flatten() > self.tolerance
            limit = self.tolerance * (oracle.abs() + scale)
            if self.is_gross:
                wrong = wrong & (self._gross_errors(sums, candidate, oracle, wrong) > limits.GROSS_ERROR)
                centre = self._centre(sums, oracle)
                limit = torch.maximum(limit, limits.GROSS_ERROR * ((oracle - centre.mean).abs() + centre.spread))
            limit = torch.where(limit.isfinite(), limit, 0.0)
            most -= int(wrong.sum())
            if most < 0:
                return None
            found = wrong.nonzero().flatten()
            positions.append(found + start)
            values.append(candidate.flatten()[found])
            allowed.append(limit.expand_as(candidate).flatten()[found].double())
        none = torch.full_like(torch.cat(allowed), torch.inf)
        return Doubts(torch.cat(positions), torch.cat(values), torch.cat(allowed), none, -none)

    def locate(self, piece: OutputPiece, *, counts_only: bool = False, pattern: int | None = None) -> None:
        """Count the wrong elements of a piece. Unless counts_only, also note their pattern, their likeness, the first ones and the worst:
        this takes ten times as long. `pattern` is the byte that filled free memory."""
        sums = self._gross_sums(piece)
        filled = None if pattern is None else _consists_of(piece.candidate, pattern)
        position = 0
        for start, candidate, reference, oracle, scale in self._chunks(piece):
            if not (is_exact(self._dtype) or counts_only):
                self._fit.add(candidate, oracle)
            error = self._candidate_errors(candidate, reference, oracle, scale).flatten()
            wrong = error > self.tolerance
            self._beyond += int(wrong.sum())
            if self.is_gross:
                wrong = wrong & (self._gross_errors(sums, candidate, oracle, wrong) > limits.GROSS_ERROR)
            self._wrong += int(wrong.sum())
            if filled is not None:
                self.unwritten += int((wrong & filled[position : position + len(wrong)]).sum())
                position += len(wrong)
            if counts_only:
                continue
            self._description.add(start, candidate.flatten(), oracle.flatten(), error, wrong, self.tolerance)
            if not bool(wrong.any()):
                continue
            if len(self._examples) < MAX_EXAMPLES:
                for position in wrong.nonzero().flatten()[: MAX_EXAMPLES - len(self._examples)].tolist():
                    self._examples.append(self._element(start, position, candidate, oracle))
            worst = int(error.argmax())
            if self._worst is None or float(error[worst]) > self._worst[0]:
                self._worst = float(error[worst]), self._element(start, worst, candidate, oracle)

    @property
    def is_gross(self) -> bool:
        """Whether only gross errors decide."""
        return self._rules.rule.is_gross and not is_exact(self._dtype)

    def _gross_sums(self, piece: OutputPiece) -> Sums:
        """The sums of the whole oracle, if errors are compared with its spread."""
        sums = self._sums or Sums()
        if self.is_gross and not self._by_row and self._sums is None:
            sums.add(self._parts(piece)[2])
        return sums

    def _gross_errors(self, sums: Sums, candidate: torch.Tensor, oracle: torch.Tensor, beyond: torch.Tensor) -> torch.Tensor:
        """The gross error of each element, flat. `beyond` marks elements beyond the tolerance."""
        error = gross_errors(candidate, oracle, self._centre(sums, oracle)).flatten()
        if self._rules.rule is Rule.FINITE:
            error = torch.where(candidate.isfinite().flatten(), error, 0.0)
        largest = float(error[beyond].max()) if bool(beyond.any()) else 0.0
        self._gross_error = max(self._gross_error or 0.0, largest)
        return error

    def _centre(self, sums: Sums, oracle: torch.Tensor) -> Centre:
        if self._by_row:
            return row_centre(oracle)
        if self._shape.numel() == 1:
            return Centre(torch.zeros_like(oracle), torch.zeros_like(oracle))  # a lone number is compared with its own size
        return Centre(torch.full_like(oracle[:1, :1], sums.mean), torch.full_like(oracle[:1, :1], sums.spread))

    def _element(self, start: int, position: int, candidate: torch.Tensor, oracle: torch.Tensor) -> WrongElement:
        value, expected = (float(tensor.flatten()[position]) for tensor in (candidate, oracle))
        return WrongElement(index=_unravel(start + position, self._shape), value=value, expected=expected)

    def figures(self) -> ErrorFigures:
        """The figures that are stored for this output."""
        elements = self._shape.numel()
        first = self._examples[0] if self._examples else None
        worst = self._worst[1] if self._worst else None
        return ErrorFigures(
            output=self._name,
            elements=elements,
            wrong=self._wrong,
            max_error=self._max_error,
            rms_error=self._rms_error,
            tolerance=self.tolerance,
            reference_error=self._reference_error,
            beyond=self._beyond,
            gross_error=self._gross_error,
            first_index=first.index if first else None,
            first_value=first.value if first else None,
            first_expected=first.expected if first else None,
            pattern=self._description.pattern(),
            nonfinite_mismatch=self._nonfinite_mismatch,
            likeness=self._description.likeness(self._fit.factor),
            examples=tuple({element.index: element for element in (*self._examples, *([worst] if worst else []))}.values()),
            error_map=self._description.error_map(),
        )

    def _candidate_errors(
        self, candidate: torch.Tensor, reference: torch.Tensor, oracle: torch.Tensor, scale: torch.Tensor
    ) -> torch.Tensor:
        """Error of each element; zero for exact elements that equal the reference's."""
        error = self._errors(candidate, oracle, scale)
        return torch.where(candidate == reference, 0.0, error) if is_exact(self._dtype) else error

    def _errors(self, value: torch.Tensor, oracle: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        """Error of each element; infinite if one value is NaN or infinite, and the other differs."""
        if is_exact(self._dtype):
            # In float64, since int64 would overflow. Differences too small for float64 count as one.
            error = (value.double() - oracle.double()).abs().clamp_min(1.0)
        else:
            error = (value - oracle).abs() / (oracle.abs() + scale)
        if math.isfinite(float(error.max())) and not is_exact(self._dtype):
            return error
        same = (value == oracle) | (value.isnan() & oracle.isnan())
        return torch.where(same, 0.0, error).nan_to_num(nan=math.inf, posinf=math.inf)

    def _parts(self, piece: OutputPiece) -> list[torch.Tensor]:
        """Candidate, reference and oracle as rows of real numbers."""
        return [_rows(tensor, self._by_row) for tensor in (piece.candidate, piece.reference, piece.oracle)]

    def _chunks(self, piece: OutputPiece) -> Iterator[tuple[int, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]]:
        """Chunks as rows, in float64 (int64 where compared exactly): position of the first element, candidate, reference, oracle, scale."""
        parts = self._parts(piece)
        kind = torch.int64 if is_exact(self._dtype) else torch.float64
        row_elements, first = parts[0].shape[1], piece.start * self._shape[1:].numel()
        rows = max(chunk_elements(parts[2].device) // max(row_elements, 1), 1)
        whole: torch.Tensor | None = None
        if self._sums is not None:
            whole = torch.tensor(self._sums.rms, dtype=torch.float64, device=parts[2].device)
        elif not self._by_row:
            whole = rms(parts[2])
        for row in range(0, parts[0].shape[0], rows):
            candidate, reference, oracle = (part[row : row + rows].to(kind) for part in parts)
            if is_float8(self._dtype):
                oracle = oracle.to(self._dtype).to(kind)
            scale = row_rms(oracle.double()) if whole is None else whole
            yield first + row * row_elements, candidate, reference, oracle, scale


def _rows(tensor: torch.Tensor, by_row: bool) -> torch.Tensor:
    """The tensor as a matrix: one line per row, or one element per line if the scale is the whole tensor's."""
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return tensor.flatten(1) if by_row else tensor.reshape(-1, 1)


def _consists_of(tensor: torch.Tensor, pattern: int) -> torch.Tensor:
    """Whether each element consists of this byte alone, flat; real and imaginary parts are elements of their own."""
    data = (torch.view_as_real(tensor) if tensor.is_complex() else tensor).contiguous().view(-1)
    size = data.element_size()
    integer = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[size]
    return data.view(integer) == int.from_bytes(bytes([pattern]) * size, "little", signed=integer.is_signed)


def _largest_finite(error: torch.Tensor) -> float:
    largest = float(error.max())
    return largest if math.isfinite(largest) else float(finite(error).max())


def _unravel(position: int, shape: torch.Size) -> tuple[int, ...]:
    index = []
    for size in reversed(shape):
        index.append(position % size)
        position //= size
    return tuple(reversed(index))
