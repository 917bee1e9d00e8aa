"""One variant of a reference, and what is known of the reference when variants are chosen."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from evaluator.judge.correctness.errors.variants.call import Call, Swap


@dataclass(frozen=True)
class Variant:
    """A reference that differs from the right one in one respect."""

    what: str
    """The respect, as in `GELU's tanh approximation`; it follows `the reference with`."""
    swaps: Mapping[str, Swap] = field(default_factory=dict)
    """What is done in place of functions, by their names."""
    eps: float | None = None
    """What the attribute `eps` of modules is set to; None leaves it."""
    rounded: Callable[[torch.Tensor], torch.Tensor] | None = None
    """What is done to the inputs that are floating-point tensors."""


@dataclass(frozen=True)
class Subject:
    """A reference whose calls were recorded."""

    calls: Sequence[Call]
    epsilons: frozenset[float]
    """Values of the attribute `eps` of its modules."""
    dtype: torch.dtype
    """Of the wrong output."""
    on_gpu: bool

    def of(self, *names: str) -> list[Call]:
        """The calls of these functions."""
        return [call for call in self.calls if call.name in names]

    def called(self, *names: str) -> list[str]:
        """Those of the names that are called."""
        found = {call.name for call in self.calls}
        return [name for name in names if name in found]


Family = Callable[[Subject], Iterator[Variant]]
"""Variants of one kind; none where the reference does not call the functions."""
