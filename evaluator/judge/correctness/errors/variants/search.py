"""Finds the variant of the reference that a wrong answer equals.

The judge runs the float64 oracle again, with some of the functions that it calls replaced. An answer within its tolerance of such a
variant, and much closer to it than to the oracle, equals it.
"""

import copy
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from evaluator.judge import limits
from evaluator.judge.correctness.errors.variants.call import Call, Recorder, Substitution, Swap
from evaluator.judge.correctness.output_scale import chunk_elements, finite, rms
from evaluator.worker.nested import mapped, tensors

MOST_VARIANTS = 32
BUDGET_S = 10.0
"""No further variant begins after this time, in seconds."""
TIE = 2.0
"""Variants of one family can't be distinguished if their mean errors are within this factor of the smallest."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Variant:
    """A reference that differs from the right one in one respect."""

    what: str
    """The difference, such as `GELU's tanh approximation`; it follows `the reference with`."""
    swaps: Mapping[str, Swap] = field(default_factory=dict)
    """Replacements of functions, by their names."""
    eps: float | None = None
    """Value for the attribute `eps` of modules; None leaves it unchanged."""
    rounded: Callable[[torch.Tensor], torch.Tensor] | None = None
    """Rounding of the floating-point inputs."""


@dataclass(frozen=True)
class Subject:
    """A reference with its recorded calls."""

    calls: Sequence[Call]
    epsilons: frozenset[float]
    """Values of the attribute `eps` of its modules."""
    dtype: torch.dtype
    """Dtype of the wrong output."""
    on_gpu: bool

    def of(self, *names: str) -> list[Call]:
        """The calls of these functions."""
        return [call for call in self.calls if call.name in names]

    def called(self, *names: str) -> list[str]:
        """The names among these that are called."""
        found = {call.name for call in self.calls}
        return [name for name in names if name in found]


Family = Callable[[Subject], Iterator[Variant]]
"""Variants of one kind; none if the reference does not call the functions."""


@dataclass(frozen=True)
class Distance:
    """The distance of an output from another: errors divided by the other's magnitude."""

    largest: float
    """Largest error; infinite if one value is not finite and the other differs."""
    mean: float
    """The root mean square of the finite errors."""

    def __str__(self) -> str:
        return f"to {self.largest:.1g}" if self.largest else "exactly"

    def is_closer(self, other: "Distance") -> bool:
        return self.largest * limits.CLOSER <= other.largest and (self.mean * limits.CLOSER <= other.mean or math.isinf(other.largest))


class Search:
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
        self.model = copy.deepcopy(oracle_model)
        self._buffers = {name: buffer.clone() for name, buffer in self.model.named_buffers()}
        self.inputs, self.wrong, self._number, self.tolerance = list(inputs), wrong, number, tolerance
        self._dtype = next((weight.dtype for weight in self.model.parameters() if weight.is_floating_point()), torch.float64)
        recorder = Recorder()
        self.oracle = self._run(Variant("nothing else"), recorder)
        self.distance = distance_of(wrong, self.oracle)
        epsilons = frozenset(eps for module in self.model.modules() if isinstance(eps := getattr(module, "eps", None), float))
        self._subject = Subject(recorder.calls, epsilons, wrong.dtype, wrong.is_cuda)

    def equal(self, families: Iterable[Family]) -> str:
        """Describe what `wrong` equals; empty if it is no variant of these families."""
        return next((found for family in families if (found := self._equal(family))), "")

    def _equal(self, family: Family) -> str:
        """The variants of a family that the output equals."""
        found: list[tuple[Distance, str]] = []
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
            if other.shape == self.wrong.shape and self.is_equal(distance := distance_of(self.wrong, other)):
                found.append((distance, variant.what))
        if not found:
            return ""
        least = min(distance.mean for distance, _ in found)
        nearest = [(distance, what) for distance, what in found if distance.mean <= TIE * least]
        return f"the reference with {' or '.join(what for _, what in nearest)}, {nearest[0][0]}"

    def is_equal(self, distance: Distance) -> bool:
        """Whether an output at this distance equals `wrong`."""
        return distance.largest <= self.tolerance and distance.is_closer(self.distance)

    def _run(self, variant: Variant, recorder: Recorder | None = None) -> torch.Tensor:
        """The output of a variant. Changes that a run makes are undone."""

        def drawn(tensor: torch.Tensor) -> torch.Tensor:
            if not tensor.is_floating_point():
                return tensor.clone()
            wide = tensor.to(self._dtype, copy=True)
            return wide if variant.rounded is None else variant.rounded(wide)

        arguments = [mapped(value, drawn) for value in self.inputs]
        modules = (
            [module for module in self.model.modules() if isinstance(getattr(module, "eps", None), float)]
            if variant.eps is not None
            else []
        )
        kept = [module.eps for module in modules]
        try:
            for module in modules:
                module.eps = variant.eps  # type: ignore[assignment]
            with recorder if recorder is not None else Substitution(variant.swaps):
                answer = self.model(*arguments)
            return self._mapped_by(tensors(answer)[self._number])
        finally:
            for module, eps in zip(modules, kept, strict=True):
                module.eps = eps
            for name, buffer in self.model.named_buffers():
                if name in self._buffers and buffer.shape == self._buffers[name].shape:
                    buffer.copy_(self._buffers[name])


def distance_of(value: torch.Tensor, other: torch.Tensor) -> Distance:
    """Errors divided by |other| plus its root mean square, as for a tensor that is judged as a whole."""
    scale = rms(other.reshape(-1))
    largest, squares = 0.0, 0.0
    for one, two in chunks(value, other):
        error = (one.double() - two).abs_() / (two.abs() + scale)
        error = torch.where((one == two) | (one.isnan() & two.isnan()), 0.0, error).nan_to_num_(nan=math.inf, posinf=math.inf)
        largest = max(largest, float(error.max()))
        squares += float(finite(error).square().sum())
    return Distance(largest, math.sqrt(squares / other.numel()))


def chunks(one: torch.Tensor, other: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    return zip(*(torch.split(tensor.reshape(-1), chunk_elements(other.device)) for tensor in (one, other)), strict=True)
