"""The reference, run in its own dtypes for the expected output, and with float64 values (the oracle, `wide.py`) for the right one.

If rows are independent, both run in chunks of rows, and only one chunk of each exists at a time. A problem may declare this. If it does
not, and the whole exceeds the device's memory, the judge tests it: the output for a slice of the inputs must be the slice of the output.
"""

import copy
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import torch

from evaluator.judge.correctness.compare import KnownErrors, OutputPiece
from evaluator.judge.correctness.oracle.monte_carlo import possible, product_dtype_of
from evaluator.judge.correctness.oracle.operator_profile import profile
from evaluator.judge.correctness.oracle.reference_slices import find_carriers, needs_slices, sliced_inputs
from evaluator.judge.correctness.oracle.wide import MISSING, WideModel, WideOutput, narrowest, wide
from evaluator.judge.correctness.output_scale import CHUNK_ELEMENTS, all_finite, isfinite
from evaluator.judge.correctness.row_sampling import common_rows
from evaluator.judge.correctness.tolerance import has_row_scale, is_exact
from evaluator.worker.nested import mapped, tensors

CPU_PIECE_ELEMENTS = 1 << 21
"""Elements of a chunk of rows on a CPU: 16 MiB in float64, which its allocator keeps for the next. On a GPU it is CHUNK_ELEMENTS."""
MOST_AT_A_TIME = 8 * CHUNK_ELEMENTS
"""Elements of inputs and outputs that are rounded otherwise at a time: operators need ten copies of theirs in float64."""

log = logging.getLogger(__name__)


class ReferenceFailedError(Exception):
    """The reference itself failed: no submission is to blame."""


class BaselineFailedError(Exception):
    """The baseline's worker failed: no submission is to blame."""


class Oracle:
    """A reference model on the judge's device, and its wide copy."""

    def __init__(self, model: torch.nn.Module, rows_independent: bool) -> None:
        self._model = model
        self._rows_independent = rows_independent
        self._wide: WideModel | None = None
        self._carriers: frozenset[int] | None = None
        """Numbers of the input tensors with the output's rows; None before slices were tried."""
        self._selected: frozenset[int] | None = None
        """Numbers of the input tensors with the output's rows, if some rows run alone; None before that was tried."""
        self.terms = 1
        """Terms of the longest sum behind an element, as observed in a call."""
        self.operators = 0
        """Operators that a call runs, as observed in one."""
        self.asserts = False
        """Whether inputs with other values may break the CUDA context, as observed in a call."""
        self._changes_inputs = False
        """Whether a call changes its arguments, as observed in a call. If so, it gets copies."""
        self.dtype: torch.dtype | None = None
        """The oracle's dtype: float64, or float32 where the reference does not run with float64 values; None before its first run."""
        self._in_float64: torch.nn.Module | None = None
        self.known_errors: Sequence[KnownErrors] = ()
        """What was learnt of the reference's errors, for each output; empty before the first answer. So a draw on which the reference is
        accurate by chance makes no later answer wrong."""
        self.uncertain: dict[int, float] = {}
        """Outputs, by number, on which rounding decides with the problem's own inputs, each with the error of a reference that is rounded
        otherwise; empty before that was asked."""
        self.is_uncertain = False
        """Whether rounding decides on an output for the problem's own inputs: then nothing is ranked."""

    @property
    def model(self) -> torch.nn.Module:
        """The reference in its own dtype."""
        return self._model

    @property
    def wide_model(self) -> torch.nn.Module | None:
        """The reference in float64, whose variants a wrong answer is compared with; None before the oracle's first run."""
        if self._in_float64 is None and self.dtype is not None:
            self._in_float64 = copy.deepcopy(self._model).to(torch.float64)
        return self._in_float64

    def observe(self, inputs: Sequence[Any]) -> Any:
        """Run the reference, note how it computes, and return its output. It may change these inputs. Raises ReferenceFailedError."""
        versions = _versions(inputs)
        observed, answer = profile(lambda: self.expected(inputs))
        self._changes_inputs = _versions(inputs) != versions
        self.operators, self.terms, self.asserts = observed.calls, observed.terms, observed.asserts
        return answer

    def expected(self, inputs: Sequence[Any]) -> Any:
        """The reference's output, in its own dtype. Raises ReferenceFailedError."""
        try:
            with torch.no_grad():
                return self._model(*self._own(inputs))
        except Exception as error:
            raise ReferenceFailedError(f"the reference raised {type(error).__name__}: {error}") from error

    def pieces(
        self,
        inputs: Sequence[Any],
        candidate: Sequence[torch.Tensor],
        reference: Sequence[torch.Tensor] | None = None,
        *,
        by_reference: bool = False,
    ) -> Iterator[tuple[int, OutputPiece]]:
        """Pieces of every output, each with the number of its output.

        `candidate` and `reference` are the outputs' tensors in order. Without `reference` the model runs. Outputs with a scale for each row
        come in chunks of rows. So do all others if the whole does not fit; then `is_sliced` is true. by_reference: the
        reference's output takes the place of the oracle, which does not run. Raises ReferenceFailedError.
        """
        late: dict[int, list[OutputPiece]] = {}
        for rows, chunk in self._chunks(inputs, candidate):
            known = self._outputs(chunk) if reference is None else [_part(tensor, rows) for tensor in reference]
            right = [WideOutput(wide(tensor)) for tensor in known] if by_reference else self._run(chunk)
            for number, (oracle, expected) in enumerate(zip(right, known, strict=True)):
                values = oracle.values if all_finite(expected) else _within(oracle.values, expected.dtype)
                piece = OutputPiece(
                    rows.start if rows else 0, _part(candidate[number], rows), expected, values, rounded_to=oracle.rounded_to
                )
                if self._carriers or has_row_scale(candidate[number].shape, self._rows_independent):
                    yield number, piece
                else:
                    late.setdefault(number, []).append(piece)
        for number, pieces in late.items():
            yield number, pieces[0] if len(pieces) == 1 else joined(pieces, candidate[number])

    def possible(
        self, inputs: Sequence[Any], outputs: Sequence[torch.Tensor], rows: torch.Tensor, generator: torch.Generator
    ) -> tuple[list[torch.Tensor], torch.Tensor | None]:
        """Output tensors that the reference could give if its operators rounded otherwise: of these rows alone, and these rows, if they
        can be computed alone; else of all, and None. Raises ReferenceFailedError."""
        try:
            carriers, narrow = self._carriers_of(inputs, outputs), product_dtype_of(inputs, outputs)
            if carriers == frozenset():
                return possible(self._model, [mapped(value, torch.clone) for value in inputs], generator, narrow), None
            step = max(CHUNK_ELEMENTS * len(outputs[0]) // _elements(inputs, outputs), 1)
            parts = [possible(self._model, sliced_inputs(inputs, some, carriers), generator, narrow) for some in torch.split(rows, step)]
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            raise ReferenceFailedError(f"the reference raised {type(error).__name__}: {error}") from error
        return [torch.cat(each) for each in zip(*parts, strict=True)], rows

    def _carriers_of(self, inputs: Sequence[Any], outputs: Sequence[torch.Tensor]) -> frozenset[int] | None:
        """The inputs with the output's rows, if rows can be computed alone; None for all inputs, and empty if rows can't. Raises
        ReferenceFailedError if all rows are too many values at a time."""
        if self._rows_independent and common_rows(inputs, outputs) is not None:
            return None
        elements = _elements(inputs, outputs)
        if self._selected is None:
            self._selected = self._carriers or find_carriers(self._model, self._own(inputs))
        if not self._selected and elements > MOST_AT_A_TIME:
            raise ReferenceFailedError(f"{elements} values at a time are too many to round otherwise")
        return self._selected

    def is_sliced(self, inputs: Sequence[Any], outputs: Sequence[torch.Tensor]) -> bool:
        """Whether pieces are slices although rows are not declared independent. Tries slices if the whole would not fit.

        Raises ReferenceFailedError.
        """
        if self._rows_independent or self._carriers is not None:
            return bool(self._carriers)
        if needs_slices(inputs, outputs):
            self._carriers = find_carriers(self._model, inputs)
        return bool(self._carriers)

    def wide_pieces(
        self, inputs: Sequence[Any], outputs: Sequence[torch.Tensor], *, by_reference: bool = False
    ) -> Iterator[tuple[int, torch.Tensor]]:
        """The oracle's part of every piece; by_reference: the reference's. Raises ReferenceFailedError."""
        for _, chunk in self._chunks(inputs, outputs):
            yield from enumerate(self._outputs(chunk) if by_reference else [output.values for output in self._run(chunk)])

    def _own(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """The inputs, or copies if a call would change them."""
        return [mapped(value, torch.clone) for value in inputs] if self._changes_inputs else inputs

    def _outputs(self, inputs: Sequence[Any]) -> list[torch.Tensor]:
        return tensors(self.expected(inputs))

    def _chunks(self, inputs: Sequence[Any], outputs: Sequence[torch.Tensor]) -> Iterator[tuple[slice | None, list[Any]]]:
        """Pairs of a slice and these rows of the inputs; or one pair of None and all inputs."""
        sliced = self.is_sliced(inputs, outputs)
        count = len(outputs[0]) if sliced else common_rows(inputs, outputs) if self._rows_independent else None
        if count is None:
            yield None, list(inputs)
            return
        most = min(CHUNK_ELEMENTS, CPU_PIECE_ELEMENTS) if outputs[0].device.type == "cpu" else CHUNK_ELEMENTS
        step = max(most * count // max(tensor.numel() for tensor in tensors([*inputs, *outputs])), 1)
        for start in range(0, count, step):
            rows = slice(start, min(start + step, count))
            yield rows, sliced_inputs(inputs, rows, self._carriers) if sliced else [mapped(value, itemgetter(rows)) for value in inputs]

    def _run(self, inputs: Sequence[Any]) -> list[WideOutput]:
        if self.dtype is not torch.float32:
            self._wide = self._wide or WideModel(self._model)
            try:
                outputs = self._wide(inputs)
            except torch.OutOfMemoryError:
                raise  # a RuntimeError, but no missing operator: a submission's memory use must not choose the oracle's type
            except MISSING as error:
                log.info("the reference does not run with float64 values: %s", error)
                self._wide, self.dtype = None, torch.float32
            else:
                self.dtype = torch.float64
                return outputs
        return [WideOutput(wide(tensor)) for tensor in self._outputs(inputs)]


@dataclass(frozen=True)
class Reference:
    """The reference of one evaluation: its model on the judge's device, the arguments of its construction, and the oracle."""

    model: torch.nn.Module
    arguments: list[Any]
    oracle: Oracle


def _elements(inputs: Sequence[Any], outputs: Sequence[torch.Tensor]) -> int:
    return max(sum(tensor.numel() for tensor in tensors([*inputs, *outputs])), 1)


def widened(value: Any, dtype: torch.dtype) -> Any:
    """Convert floating-point tensors to a wider type."""
    return mapped(value, lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)


def joined(pieces: Sequence[OutputPiece], candidate: torch.Tensor) -> OutputPiece:
    """Pieces of all rows as one. `candidate` is the whole output."""
    reference, oracle = (torch.cat(parts) for parts in ([each.reference for each in pieces], [each.oracle for each in pieces]))
    return OutputPiece(0, candidate, reference, oracle, rounded_to=narrowest(piece.rounded_to for piece in pieces))


def _within(oracle: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The oracle with what exceeds this dtype's range as infinite as it is there."""
    if is_exact(dtype):
        return oracle
    rounded = oracle.to(dtype).to(oracle.dtype)
    return torch.where(isfinite(rounded), oracle, rounded)


def _versions(inputs: Sequence[Any]) -> list[int]:
    """The number of changes to each tensor. Tensors made in inference mode count none, and can't be changed."""
    return [0 if tensor.is_inference() else tensor._version for tensor in tensors(list(inputs))]


def _part(tensor: torch.Tensor, rows: slice | None) -> torch.Tensor:
    return tensor if rows is None else tensor[rows]
