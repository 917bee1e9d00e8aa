"""The reference, run in its own dtype for the expected output, and in float64 (the oracle) for the right one.

If rows are independent, both run in chunks of rows, and only one chunk of each exists at a time. A problem may declare this. If it does
not, and the whole exceeds the device's memory, the judge tests it: the output for a slice of the inputs must be the slice of the output.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import torch

from evaluator.judge.correctness.compare import OutputPiece
from evaluator.judge.correctness.operator_profile import profile
from evaluator.judge.correctness.output_scale import CHUNK_ELEMENTS
from evaluator.judge.correctness.reference_slices import find_carriers, needs_slices, sliced_inputs
from evaluator.judge.correctness.row_sampling import common_rows, mapped
from evaluator.judge.correctness.tolerance import has_row_scale
from evaluator.worker.structure import tensors_of

WIDE = (torch.float64, torch.float32)
"""Types that the oracle tries, widest first. Some operators do not support float64."""


class ReferenceFailedError(Exception):
    """The reference itself failed: no submission is to blame."""


class BaselineFailedError(Exception):
    """The baseline's worker failed: no submission is to blame."""


class Oracle:
    """A reference model on the judge's device, and its copy in a wider type."""

    def __init__(self, model: torch.nn.Module, rows_independent: bool) -> None:
        self._model = model
        self._rows_independent = rows_independent
        self._wide: torch.nn.Module | None = None
        self._carriers: frozenset[int] | None = None
        """Numbers of the input tensors with the output's rows; None before slices were tried."""
        self.terms = 1
        """Terms of the longest sum behind an element, as observed in a call."""
        self.sorts = True
        """Whether the output may be an order of elements, as observed in a call."""
        self.asserts = False
        """Whether inputs with other values may break the CUDA context, as observed in a call."""
        self._changes_inputs = False
        """Whether a call changes its arguments, as observed in a call. If so, it gets copies."""
        self.dtype: torch.dtype | None = None
        """The oracle's dtype; None before its first run."""

    @property
    def model(self) -> torch.nn.Module:
        """The reference in its own dtype."""
        return self._model

    @property
    def wide_model(self) -> torch.nn.Module | None:
        """The reference in the oracle's dtype; None before its first run."""
        return self._wide

    def observe(self, inputs: Sequence[Any]) -> Any:
        """Run the reference, note how it computes, and return its output. It may change these inputs. Raises ReferenceFailedError."""
        versions = _versions(inputs)
        observed, answer = profile(lambda: self.expected(inputs))
        self._changes_inputs = _versions(inputs) != versions
        self.terms, self.sorts, self.asserts = observed.terms, observed.sorts, observed.asserts
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
        nudge: torch.Generator | None = None,
        *,
        by_reference: bool = False,
    ) -> Iterator[tuple[int, OutputPiece]]:
        """Pieces of every output, each with the number of its output.

        `candidate` and `reference` are the outputs' tensors in order. Without `reference` the model runs. Outputs with a scale for each row
        come in chunks of rows. So do all others if the whole does not fit; then `is_sliced` is true. `nudge` moves inputs by less than
        their dtype's rounding. by_reference: the reference's output takes the place of the oracle, which does not run. Raises
        ReferenceFailedError.
        """
        late: dict[int, list[tuple[torch.Tensor, torch.Tensor]]] = {}
        for rows, chunk in self._chunks(inputs, candidate):
            known = self._outputs(chunk) if reference is None else [_part(tensor, rows) for tensor in reference]
            wide = [widened(tensor, torch.float64) for tensor in known] if by_reference else self._run(chunk, nudge)
            for number, (oracle, expected) in enumerate(zip(wide, known, strict=True)):
                if self._carriers or has_row_scale(candidate[number].shape, self._rows_independent):
                    start = rows.start if rows else 0
                    yield number, OutputPiece(start, _part(candidate[number], rows), expected, oracle)
                else:
                    late.setdefault(number, []).append((expected, oracle))
        for number, parts in late.items():
            expected, oracle = parts[0] if len(parts) == 1 else (torch.cat(tensors) for tensors in zip(*parts, strict=True))
            yield number, OutputPiece(0, candidate[number], expected, oracle)

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
            yield from enumerate(self._outputs(chunk) if by_reference else self._run(chunk))

    def _own(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """The inputs, or copies if a call would change them."""
        return [mapped(value, torch.clone) for value in inputs] if self._changes_inputs else inputs

    def _outputs(self, inputs: Sequence[Any]) -> list[torch.Tensor]:
        return [tensor for _, tensor in tensors_of(self.expected(inputs))]

    def _chunks(self, inputs: Sequence[Any], outputs: Sequence[torch.Tensor]) -> Iterator[tuple[slice | None, list[Any]]]:
        """Pairs of a slice and these rows of the inputs; or one pair of None and all inputs."""
        sliced = self.is_sliced(inputs, outputs)
        count = len(outputs[0]) if sliced else common_rows(inputs, outputs) if self._rows_independent else None
        if count is None:
            yield None, list(inputs)
            return
        step = max(CHUNK_ELEMENTS * count // max(tensor.numel() for _, tensor in tensors_of([*inputs, *outputs])), 1)
        for start in range(0, count, step):
            rows = slice(start, min(start + step, count))
            yield rows, sliced_inputs(inputs, rows, self._carriers) if sliced else [mapped(value, itemgetter(rows)) for value in inputs]

    def _run(self, inputs: Sequence[Any], nudge: torch.Generator | None = None) -> list[torch.Tensor]:
        failure: Exception | None = None
        for dtype in WIDE if self.dtype is None else (self.dtype,):
            model = self._wide if self._wide is not None else copy.deepcopy(self._model).to(dtype)
            try:
                with torch.no_grad():
                    outputs = [tensor for _, tensor in tensors_of(model(*[widened(value, dtype, nudge) for value in self._own(inputs)]))]
            except torch.OutOfMemoryError:
                raise  # a RuntimeError, but no missing operator: a submission's memory use must not choose the oracle's type
            except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
                failure = error
                continue
            self._wide, self.dtype = model, dtype
            return outputs
        raise ReferenceFailedError(f"the reference does not run in a wider type: {failure}")


@dataclass(frozen=True)
class Reference:
    """The reference of one evaluation: its model on the judge's device, the arguments of its construction, and the oracle."""

    model: torch.nn.Module
    arguments: list[Any]
    oracle: Oracle


def widened(value: Any, dtype: torch.dtype, nudge: torch.Generator | None = None) -> Any:
    """Convert floating-point tensors to a wider type. `nudge` moves them by up to half a unit in the last place."""

    def widen(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point():
            return tensor
        wide = tensor.to(dtype)
        if nudge is None:
            return wide
        wide = wide.clone(memory_format=torch.contiguous_format) if wide is tensor else wide.contiguous()
        for part in torch.split(wide.view(-1), CHUNK_ELEMENTS):
            moves = torch.rand(part.shape, dtype=dtype, device=part.device, generator=nudge).sub_(0.5)
            part.add_(moves.mul_(_units(part, torch.finfo(tensor.dtype).eps)))
        return wide

    return mapped(value, widen)


def _units(wide: torch.Tensor, eps: float) -> torch.Tensor:
    """The unit in the last place of each value, in a type with this eps. A zero gets that of the smallest other value."""
    exponents = torch.frexp(wide).exponent
    others = exponents[wide != 0]
    exponents = torch.where(wide == 0, others.min() if len(others) else 1, exponents)
    return torch.exp2(exponents.to(wide.dtype)).mul_(eps / 2)


def _versions(inputs: Sequence[Any]) -> list[int]:
    """The number of changes to each tensor. Tensors made in inference mode count none, and can't be changed."""
    return [0 if tensor.is_inference() else tensor._version for _, tensor in tensors_of(list(inputs))]


def _part(tensor: torch.Tensor, rows: slice | None) -> torch.Tensor:
    return tensor if rows is None else tensor[rows]
