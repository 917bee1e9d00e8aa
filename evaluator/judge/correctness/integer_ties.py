"""Integers that depend on less than the inputs' precision, such as the index of one of two equal values: both are right.

The judge runs the reference on inputs moved by less than the rounding of their dtype. It accepts any of the reference's outputs.
"""

from collections.abc import Sequence
from typing import Any

import torch

from evaluator.judge.correctness.reference import Oracle
from evaluator.worker.structure import tensors_of

NUDGES = 20
"""Number of runs. In each, either of two equal values comes first: the runs miss one order with a probability of 2e-6."""
MOST_LINES = 0.01
"""Maximum share of elements or lines that ties may change from the reference's; one is always allowed."""


def is_excused(
    oracle: Oracle, arguments: Sequence[Any], candidate: Sequence[torch.Tensor], number: int, seed: int, *, by_line: bool
) -> bool:
    """Whether few elements of the exact output `number` differ from the reference's, and each is the reference's for inputs moved a
    little. by_line: compare whole lines (last dimension), for outputs that are an order of elements.

    Raises ReferenceFailedError.
    """
    reference = [tensor for _, tensor in tensors_of(oracle.expected(arguments))]

    def in_lines(tensor: torch.Tensor) -> torch.Tensor:
        """The tensor as a matrix of lines in which elements may change places. A vector has one element per line."""
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
