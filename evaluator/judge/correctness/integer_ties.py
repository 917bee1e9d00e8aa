"""Integers that depend on less than the inputs' precision, such as the index of one of two equal values: both are right.

The reference is run on inputs that are moved by less than the rounding to their dtype. Any of its answers to these is accepted.
"""

from collections.abc import Sequence
from typing import Any

import torch

from evaluator.judge.correctness.reference import Oracle
from evaluator.worker.structure import tensors_of

NUDGES = 20
"""Runs. In each, either of two equal values comes first: both orders are seen in so many runs but for a probability of 2e-6."""
MOST_LINES = 0.01
"""The largest share of elements or lines, one at least, in which ties may make the answer differ from the reference's."""


def is_excused(
    oracle: Oracle, arguments: Sequence[Any], candidate: Sequence[torch.Tensor], number: int, seed: int, *, by_line: bool
) -> bool:
    """Whether each element of the exact output `number` is the reference's answer to inputs moved a little, and only a few differ from its
    answer to the inputs themselves. by_line: the same of each line (last dimension), where the answer is an order of elements.

    Raises ReferenceFailedError.
    """
    reference = [tensor for _, tensor in tensors_of(oracle.expected(arguments))]

    def in_lines(tensor: torch.Tensor) -> torch.Tensor:
        """A matrix of lines in which elements may change places; a vector has one element a line."""
        return tensor.reshape(-1, tensor.shape[-1]) if by_line and tensor.dim() > 1 else tensor.reshape(-1, 1)

    given, expected = in_lines(candidate[number]), in_lines(reference[number])
    others = (given != expected).any(1).nonzero().flatten()
    if len(others) > max(1, MOST_LINES * len(given)):
        return False
    lines_of_row = len(given) // max(len(candidate[number]), 1) if candidate[number].dim() else 1
    generator = torch.Generator(given.device).manual_seed(seed)
    for nudge in (None, *[generator] * NUDGES):
        for of, piece in oracle.pieces(arguments, candidate, reference, nudge):
            if of == number:
                answer, first = in_lines(piece.oracle), piece.start * lines_of_row
                here = (others >= first) & (others < first + len(answer))
                same = torch.zeros_like(here)
                same[here] = (answer[others[here] - first] == given[others[here]]).all(1)
                others = others[~same]
        if not len(others):
            return True
    return False
