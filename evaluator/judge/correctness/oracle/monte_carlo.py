"""Monte Carlo arithmetic: what the reference could answer, if its operators rounded otherwise.

Each operator that rounds gets operands that are moved at random by up to a unit of float32, and its results are moved by up to a unit of
their own type. Operands and results of long sums are moved by more: by a share of the square root of their terms. So sums, casts, quantised
values, indices and counts fall where another order of operations would put them. If inputs and outputs have 16 bits, the operands of
products may have no more, since tensor cores round them. Operators whose results are exact move nothing: a maximum, a comparison, a
rounding to whole numbers. Operators that order or count values move them too, so that equal values change places.

Parker, Monte Carlo Arithmetic: exploiting randomness in floating-point arithmetic (1997); Denis, de Oliveira Castro, Petit, Verificarlo:
checking floating point accuracy through Monte Carlo Arithmetic (2016); Higham, Mary: a new
approach to probabilistic rounding error analysis (2019).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from evaluator.judge import limits
from evaluator.judge.correctness.oracle.operator_profile import is_product, is_sum, terms_of
from evaluator.judge.correctness.oracle.wide import (
    CASTS,
    MISSING,
    OperatorCall,
    Results,
    changed,
    is_inexact,
    may_round,
    narrowest,
    wide,
    widest,
)
from evaluator.worker.nested import tensors, values_in

Convert = Callable[[torch.Tensor, torch.dtype], torch.Tensor]

ORDERS = ("argmax", "argmin", "argsort", "max", "min", "sort", "topk")
"""Operators that say where a value is."""
LEAST = 1e-300
"""Equal zeros are no longer equal after a move by so little, which changes no other value."""
BINS = ("histc", "bucketize", "searchsorted")
"""Operators that put values into bins. Others may subtract the first edge before they find the bin, which rounds by a unit of the largest
value."""
ADDENDS = {"addmm": 0, "baddbmm": 0, "convolution": 2, "_convolution": 2}
"""Products with an argument that is added, not multiplied: its number."""
UNIT = torch.finfo(torch.float32).eps
"""Relative size of a unit of float32, in which honest answers add up."""


class MonteCarlo(TorchDispatchMode):
    """While it is active, operators round at random."""

    def __init__(self, generator: torch.Generator, product_dtype: torch.dtype | None = None) -> None:
        """product_dtype: a type of 16 bits to which operands of products may be rounded."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._generator, self._product_dtype = generator, product_dtype

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Spare each judge 3 s, as `OperatorProfile` does."""
        return False

    def __torch_dispatch__(self, function: Any, _types: Any, arguments: Sequence[Any] = (), options: Any = None) -> Any:
        """Call the operator, and move its results if it rounds."""
        call = OperatorCall(function, tuple(arguments), dict(options or {}))
        if not call.given or call.is_view or call.name in CASTS:
            return function(*arguments, **(options or {}))
        units = 1.0
        try:
            results = call.run(_copied)
            dtypes = list(islice(call.dtypes(), len(_tensors(results.made))))
            if not _rounds(call, results, dtypes):
                return _finished(call, results, dtypes, torch.Tensor.to)
            moved = self._moves_of(call)
            units = units_of(call, results)
            results = call.run(lambda value: moved(value, units))
        except torch.OutOfMemoryError:
            raise  # a RuntimeError, but no missing operator
        except MISSING:
            results = call.run(_own_copy)
            dtypes = [value.dtype for value in _tensors(results.made)]
        return _finished(call, results, dtypes, lambda value, dtype: self._rounded(value, dtype, units))

    def _moves_of(self, call: OperatorCall) -> Callable[[Any, float], Any]:
        """How the operands of a call are moved."""
        if call.name in BINS:
            return self._moved_in_bins
        if call.name in ORDERS:
            return self._moved_apart
        if self._product_dtype is None or not is_product(call.function.overloadpacket):
            return self._moved
        added = ADDENDS.get(call.name)
        operands = {id(value) for number, value in enumerate(call.arguments) if number != added}
        return lambda value, units: (self._moved_in_product if id(value) in operands else self._moved)(value, units)

    def _moved(self, value: Any, units: float) -> Any:
        """An operand in float64, moved by up to so many units of float32, or of its own type if that is finer."""
        return self._by_units(_copied(value), units * min(unit_of(value.dtype), UNIT)) if is_inexact(value) else _copied(value)

    def _moved_in_product(self, value: Any, units: float) -> Any:
        """An operand of a product. What does not fit into 16 bits is moved by up to half a unit of these."""
        moved = self._moved(value, units)
        if self._product_dtype is None or not is_inexact(value) or value.is_complex() or unit_of(value.dtype) > UNIT:
            return moved
        fits = value.to(self._product_dtype) == value
        return torch.where(fits, moved, self._by_units(moved, unit_of(self._product_dtype) / 2))

    def _moved_apart(self, value: Any, units: float) -> Any:
        """An operand whose zeros are moved, too."""
        moved = self._moved(value, units)
        return moved + self._moves(moved) * LEAST if is_inexact(value) else moved

    def _moved_in_bins(self, value: Any, _units: float) -> Any:
        """An operand in float64, moved by up to a unit of its largest value."""
        moved = _copied(value)
        if not is_inexact(value) or not value.numel():
            return moved
        return moved + self._moves(moved) * (UNIT * float(torch.where(moved.isfinite(), moved, 0.0).abs().max()))

    def _rounded(self, value: torch.Tensor, dtype: torch.dtype, units: float) -> torch.Tensor:
        """A result in its own type, moved by up to so many units of that; to either neighbour, if the type is narrow."""
        unit = unit_of(dtype)
        return self._by_units(value.to(widest(dtype)), units * unit if unit <= UNIT else unit / 2).to(dtype)

    def _by_units(self, value: torch.Tensor, unit: float) -> torch.Tensor:
        return value * self._moves(value).mul_(unit).add_(1.0)

    def _moves(self, value: torch.Tensor) -> torch.Tensor:
        """Random numbers from -1 to 1."""
        return torch.rand(value.shape, generator=self._generator, dtype=torch.float64, device=value.device).mul_(2.0).sub_(1.0)


def units_of(call: OperatorCall, results: Results) -> float:
    """Units by which a call's operands and results are moved."""
    if not is_sum(call.function.overloadpacket):
        return 1.0
    return max(1.0, limits.SUM_UNITS * math.sqrt(terms_of(call.function.overloadpacket, call.arguments, call.options, results.made)))


def unit_of(dtype: torch.dtype) -> float:
    """Relative size of a unit of this type."""
    return torch.finfo(dtype).eps


def product_dtype_of(inputs: Sequence[Any], outputs: Sequence[torch.Tensor]) -> torch.dtype | None:
    """The type of 16 bits to which operands of products may be rounded: that of inputs, if no output has more."""
    if any(may_round(output.dtype) and unit_of(output.dtype) <= UNIT for output in outputs):
        return None
    return narrowest(tensor.dtype for tensor in tensors(list(inputs)) if tensor.dtype in (torch.float16, torch.bfloat16))


def possible(
    model: torch.nn.Module, inputs: Sequence[Any], generator: torch.Generator, product_dtype: torch.dtype | None = None
) -> list[torch.Tensor]:
    """The output's tensors of a model whose operators round at random. `inputs` may be changed as the model changes them."""
    with _attention_by_steps(), torch.no_grad(), MonteCarlo(generator, product_dtype):
        return tensors(model(*inputs))


@contextmanager
def _attention_by_steps() -> Iterator[None]:
    """PyTorch's attention as single operators in the type of its operands: honest answers may round scores and weights to it."""
    allowed = torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()  # type: ignore[no-untyped-call]
    torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(allowed)


def _rounds(call: OperatorCall, results: Results, dtypes: Sequence[torch.dtype]) -> bool:
    """Whether any result is rounded in its type, or depends on the order of values."""
    if call.name in BINS:
        return True
    written = [tensor.dtype for tensor in call.written]
    for value, dtype in zip([*_tensors(results.made), *results.written], [*dtypes, *written], strict=True):
        if not may_round(value.dtype):
            if value.dtype is not torch.bool:
                return True
        elif not torch.equal(value.nan_to_num(), value.to(dtype).to(value.dtype).nan_to_num()):
            return True
    return False


def _finished(call: OperatorCall, results: Results, dtypes: Sequence[torch.dtype], convert: Convert) -> Any:
    """The results of a call in their types, written to where it writes."""
    if call.written:
        for tensor, value in zip(call.written, results.written, strict=True):
            tensor.copy_(convert(value, tensor.dtype))
        return call.returned(results)
    types = iter(dtypes)

    def settled(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        dtype = next(types)
        return convert(value, dtype) if may_round(value.dtype) else value

    return changed(results.made, settled)


def _tensors(value: Any) -> list[torch.Tensor]:
    return [each for each in values_in(value) if isinstance(each, torch.Tensor)]


def _copied(value: Any) -> Any:
    """A copy in float64, or that type of a dtype."""
    return value.to(widest(value.dtype), copy=True) if is_inexact(value) else wide(value)


def _own_copy(value: Any) -> Any:
    return value.clone() if is_inexact(value) else value
