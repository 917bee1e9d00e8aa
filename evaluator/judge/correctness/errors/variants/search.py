"""Finds what a wrong answer equals: the reference with a known approximation, with another constant, or with a common mistake.

The judge runs the float64 oracle again, with some of the functions that it calls replaced. An answer within its tolerance of such a
variant, and much closer to it than to the oracle, equals it. The finding is shown beside a verdict and decides nothing.
"""

import copy
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch

from evaluator.judge.correctness.errors.constant_factor import FactorFit
from evaluator.judge.correctness.errors.variants import activations, ends, products, rounding, statistics
from evaluator.judge.correctness.errors.variants.call import Recorder, Substitution
from evaluator.judge.correctness.errors.variants.overflows import overflows
from evaluator.judge.correctness.errors.variants.variant import Family, Subject, Variant
from evaluator.judge.correctness.output_scale import finite, rms
from evaluator.worker.nested import mapped, tensors_of

MOST_ELEMENTS = 1 << 26
"""Maximum number of elements of all outputs. For more, nothing is tried."""
MOST_INPUT_ELEMENTS = 1 << 27
MOST_VARIANTS = 32
LEAST_ELEMENTS = 8
"""Minimum number of elements of an output that is compared with near variants: fewer may equal one by chance."""
BUDGET_S = 10.0
"""No further variant begins after this time, in seconds."""
CLOSER = 20.0
"""An answer must be this many times closer to a variant than to the oracle, in its largest and in its mean error."""
SMALL_ERROR = 1e-2
"""Up to this largest error the families of small differences are tried first."""
TIE = 2.0
"""Variants of one family can't be distinguished if their mean errors are within this factor of the smallest."""
CHUNK_ELEMENTS = 1 << 24

SMALL: tuple[Family, ...] = (
    *(activations.gelu_forms, statistics.variances, statistics.epsilons),
    *(overflows, rounding.narrow_products, rounding.exponentials, rounding.narrow_inputs, ends.left_out),
)
"""Families whose variants mostly differ little from the right answer."""
LARGE: tuple[Family, ...] = (
    *(statistics.batch_statistics, statistics.sums_and_means, products.attention, statistics.other_dimensions),
    *(activations.left_out, products.without_bias, statistics.without_affine, activations.other_formulas),
    *(products.operands, products.borders, activations.constants_left_out),
)

log = logging.getLogger(__name__)


def known_cause(
    oracle_model: torch.nn.Module, inputs: Sequence[Any], candidate: Sequence[torch.Tensor], number: int, tolerance: float
) -> str:
    """What output `number` of a wrong answer equals, with the largest relative error, such as `the reference with GELU's tanh
    approximation, to 2e-07`; empty if unknown.

    `oracle_model` and floating-point inputs are in float64, or in the oracle's dtype. `candidate` holds the outputs' tensors, and
    `tolerance` is this output's. Neither the model nor the inputs are changed. Never raises: without memory, for example, the result is
    empty.
    """
    try:
        wrong = candidate[number]
        sizes = [sum(tensor.numel() for _, tensor in tensors_of(list(values))) for values in (candidate, inputs)]
        if not wrong.is_floating_point() or not wrong.numel() or sizes[0] > MOST_ELEMENTS or sizes[1] > MOST_INPUT_ELEMENTS:
            return ""
        if wrong.numel() > 1 and bool((wrong == wrong.flatten()[0]).all()):
            return ""  # many formulas end in the same constant
        with torch.no_grad():
            return _Search(oracle_model, inputs, wrong, number, tolerance).cause()
    except Exception:  # the verdict stands without it
        log.exception("what a wrong output equals is left empty")
        return ""
    finally:
        if candidate and candidate[0].is_cuda:
            torch.cuda.empty_cache()  # the worker has more to do


def overflow(oracle_model: torch.nn.Module, inputs: Sequence[Any], candidate: Sequence[torch.Tensor], number: int, tolerance: float) -> str:
    """The formula that overflows, if output `number` equals its result wherever that is finite, and is not finite elsewhere; else empty.

    Such an answer equals the reference, but its arithmetic fails for large numbers. Arguments are as above. Raises
    torch.OutOfMemoryError, and the errors of the reference.
    """
    with torch.no_grad():
        return _Search(oracle_model, inputs, _without_infinities(candidate[number]), number, tolerance, _without_infinities).cause(
            [overflows]
        )


def _without_infinities(tensor: torch.Tensor) -> torch.Tensor:
    """Replace infinities by NaN: which of both a formula ends in depends on its order."""
    return torch.where(tensor.isfinite(), tensor, torch.nan)


@dataclass(frozen=True)
class _Distance:
    """The distance of an output from another: errors divided by the other's magnitude."""

    largest: float
    """Largest error; infinite if one value is not finite and the other differs."""
    mean: float
    """The root mean square of the finite errors."""

    def __str__(self) -> str:
        return f"to {self.largest:.1g}" if self.largest else "exactly"

    def is_closer(self, other: "_Distance") -> bool:
        return self.largest * CLOSER <= other.largest and (self.mean * CLOSER <= other.mean or math.isinf(other.largest))


class _Search:
    """The search for a variant that equals one wrong output."""

    def __init__(
        self,
        oracle_model: torch.nn.Module,
        inputs: Sequence[Any],
        wrong: torch.Tensor,
        number: int,
        tolerance: float,
        mapped_by: Callable[[torch.Tensor], torch.Tensor] = torch.Tensor.clone,
    ) -> None:
        """mapped_by: function of the output of every variant, already applied to `wrong`."""
        self._mapped_by = mapped_by
        self._end = time.monotonic() + BUDGET_S
        self._left = MOST_VARIANTS
        self._model = copy.deepcopy(oracle_model)
        self._buffers = {name: buffer.clone() for name, buffer in self._model.named_buffers()}
        self._inputs, self._wrong, self._number, self._tolerance = list(inputs), wrong, number, tolerance
        self._dtype = next((weight.dtype for weight in self._model.parameters() if weight.is_floating_point()), torch.float64)
        recorder = Recorder()
        self._oracle = self._run(Variant("nothing else"), recorder)
        self._distance = _distance(wrong, self._oracle)
        epsilons = frozenset(eps for module in self._model.modules() if isinstance(eps := getattr(module, "eps", None), float))
        self._subject = Subject(recorder.calls, epsilons, wrong.dtype, wrong.is_cuda)

    def cause(self, families: Sequence[Family] = ()) -> str:
        """Describe what `wrong` equals. families: those to try; all if empty."""
        small = SMALL if self._wrong.numel() >= LEAST_ELEMENTS else ()
        tried = (*small, *LARGE) if self._distance.largest <= SMALL_ERROR else (*LARGE, *small)
        for family in families or tried:
            if found := self._equal(family):
                return found
        return "" if families else self._factor()

    def _equal(self, family: Family) -> str:
        """The variants of a family that the output equals."""
        found: list[tuple[_Distance, str]] = []
        for variant in family(self._subject):
            if self._left == 0 or time.monotonic() > self._end:
                break
            self._left -= 1
            try:
                other = self._run(variant)
            except torch.OutOfMemoryError:
                raise
            except (RuntimeError, TypeError, ValueError, LookupError, AttributeError) as error:
                log.debug("no reference with %s: %s", variant.what, error)  # others may run
                continue
            if other.shape == self._wrong.shape and self._is_equal(distance := _distance(self._wrong, other)):
                found.append((distance, variant.what))
        if not found:
            return ""
        least = min(distance.mean for distance, _ in found)
        nearest = [(distance, what) for distance, what in found if distance.mean <= TIE * least]
        return f"the reference with {' or '.join(what for _, what in nearest)}, {nearest[0][0]}"

    def _is_equal(self, distance: _Distance) -> bool:
        return distance.largest <= self._tolerance and distance.is_closer(self._distance)

    def _run(self, variant: Variant, recorder: Recorder | None = None) -> torch.Tensor:
        """The output of a variant. Changes that a run makes are undone."""

        def drawn(tensor: torch.Tensor) -> torch.Tensor:
            if not tensor.is_floating_point():
                return tensor.clone()
            wide = tensor.to(self._dtype, copy=True)
            return wide if variant.rounded is None else variant.rounded(wide)

        arguments = [mapped(value, drawn) for value in self._inputs]
        modules = (
            [module for module in self._model.modules() if isinstance(getattr(module, "eps", None), float)]
            if variant.eps is not None
            else []
        )
        kept = [module.eps for module in modules]
        try:
            for module in modules:
                module.eps = variant.eps  # type: ignore[assignment]
            with recorder if recorder is not None else Substitution(variant.swaps):
                answer = self._model(*arguments)
            return self._mapped_by([tensor for _, tensor in tensors_of(answer)][self._number])
        finally:
            for module, eps in zip(modules, kept, strict=True):
                module.eps = eps
            for name, buffer in self._model.named_buffers():
                if name in self._buffers and buffer.shape == self._buffers[name].shape:
                    buffer.copy_(self._buffers[name])

    def _factor(self) -> str:
        """A description of the output as the right one times a number that follows from a size; empty if it is not."""
        fit = FactorFit()
        for wrong, oracle in _chunks(self._wrong, self._oracle):
            fit.add(wrong.double(), oracle.double())
        factor = fit.factor
        if factor is None or not self._is_equal(distance := _distance(self._wrong, self._oracle * factor)):
            return ""
        forms = list(dict.fromkeys(self._forms(factor)))
        if not forms:
            return ""
        return f"the right answer times {factor:.6g}, which is {' or '.join(forms[:2])} (a wrong scale?), {distance}"

    def _forms(self, factor: float) -> Iterator[str]:
        """The factor as a size of a tensor, its root, their inverses, and n/(n - 1)."""
        tensors = [tensor for _, tensor in tensors_of(self._inputs)]
        shapes = [tensor.shape for tensor in chain(tensors, self._model.parameters(), [self._wrong])]
        sizes = {size for shape in shapes for size in shape} | {shape[start:].numel() for shape in shapes for start in range(len(shape))}
        window = 1e-5 + 1e-2 * self._tolerance
        for size in sorted(size for size in sizes if size > 2):
            forms = {
                f"{size}": size,
                f"1/{size}": 1 / size,
                f"{size}/{size - 1}": size / (size - 1),
                f"{size - 1}/{size}": (size - 1) / size,
            }
            if size > 8:
                forms |= {f"√{size}": math.sqrt(size), f"1/√{size}": 1 / math.sqrt(size)}
            forms |= {f"√({text})": math.sqrt(value) for text, value in list(forms.items())[2:4]}
            yield from (text for text, value in forms.items() if abs(factor - value) <= min(window * value, 1e-2 * abs(value - 1)))


def _distance(value: torch.Tensor, other: torch.Tensor) -> _Distance:
    """Errors divided by |other| plus its root mean square, as for a tensor that is judged as a whole."""
    scale = rms(other.reshape(-1))
    largest, squares = 0.0, 0.0
    for one, two in _chunks(value, other):
        error = (one.double() - two).abs_() / (two.abs() + scale)
        error = torch.where((one == two) | (one.isnan() & two.isnan()), 0.0, error).nan_to_num_(nan=math.inf, posinf=math.inf)
        largest = max(largest, float(error.max()))
        squares += float(finite(error).square().sum())
    return _Distance(largest, math.sqrt(squares / other.numel()))


def _chunks(one: torch.Tensor, other: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    return zip(*(torch.split(tensor.reshape(-1), CHUNK_ELEMENTS) for tensor in (one, other)), strict=True)
