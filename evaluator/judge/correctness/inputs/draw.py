"""The inputs of one call, and what decides on its output."""

from dataclasses import dataclass
from typing import Any

import torch

from evaluator.results.distributions import DISTRIBUTIONS, OWN, Rule


@dataclass(frozen=True)
class Draw:
    """Random inputs."""

    seed: int
    arguments: list[Any]
    distribution: str = OWN
    rule: Rule = Rule.TOLERANCE
    changed_rows: tuple[int, ...] = ()
    """Indices of dimension 0 with changes that most others don't have; some of them if there are many."""
    overwritten: tuple[tuple[torch.Tensor, torch.Tensor, torch.Tensor], ...] = ()
    """What outliers replaced: a flat tensor, positions in it, and the values that were there."""
    left_out: str = ""
    """Why they are not used; empty if they are."""

    @property
    def is_few(self) -> bool:
        """Whether a few values were changed."""
        return DISTRIBUTIONS[self.distribution].few
