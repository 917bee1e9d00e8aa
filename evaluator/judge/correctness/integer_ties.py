"""Integers that hang on less than the inputs' own precision, such as the index of one of two equal values: either is right.

The reference is run on inputs moved by less than the rounding to their dtype. What its answer is for one of these, another's may be.
"""

from collections.abc import Sequence
from typing import Any

import torch

from evaluator.judge.correctness.reference import Oracle
from evaluator.worker.structure import tensors_of

NUDGES = 20
"""Of two equal values each run has either first: that both orders are not seen in so many has a probability of 2e-6."""
MOST_LINES = 0.01
"""Share of lines with another answer than the reference's, one at least, beyond which that is no matter of ties."""


def is_excused(oracle: Oracle, arguments: Sequence[Any], candidate: Sequence[torch.Tensor], number: int, seed: int) -> bool:
    """Whether the exact output `number` is, line by line of its last dimension, the reference's answer to inputs like these, and in few
    lines another than to these. Raises ReferenceFailedError.
    """
    reference = [tensor for _, tensor in tensors_of(oracle.expected(arguments))]
    given, expected = _lines(candidate[number]), _lines(reference[number])
    others = (given != expected).any(1).nonzero().flatten()
    if len(others) > max(1, MOST_LINES * len(given)):
        return False
    lines_of_row = len(given) // max(len(candidate[number]), 1) if candidate[number].dim() else 1
    generator = torch.Generator(given.device).manual_seed(seed)
    for nudge in (None, *[generator] * NUDGES):
        for of, piece in oracle.pieces(arguments, candidate, reference, nudge):
            if of == number:
                answer, first = _lines(piece.oracle), piece.start * lines_of_row
                here = (others >= first) & (others < first + len(answer))
                same = torch.zeros_like(here)
                same[here] = (answer[others[here] - first] == given[others[here]]).all(1)
                others = others[~same]
        if not len(others):
            return True
    return False


def _lines(tensor: torch.Tensor) -> torch.Tensor:
    """As a matrix: a line is what may have changed places; of a vector, every element by itself."""
    return tensor.reshape(-1, tensor.shape[-1]) if tensor.dim() > 1 else tensor.reshape(-1, 1)
