"""One variant of a reference, and the facts about the reference from which variants are chosen."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from evaluator.judge.correctness.errors.variants.call import Call, Swap


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
