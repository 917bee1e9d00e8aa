"""Checks whether a problem that must be computed in FP8 rejects other arithmetic: each disguise must be wrong, like a trivial answer."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from evaluator.judge.correctness.compare import Comparison, OutputPiece
from evaluator.judge.correctness.errors.compute_rule import DISGUISES, disguised, rounds_to_float8
from evaluator.judge.correctness.oracle.reference import Oracle, widened
from evaluator.judge.problem_check.check_result import Finding

Offered = tuple[Sequence[Any], Sequence[torch.Tensor], Callable[[], Sequence[Comparison]]]
"""Inputs, the reference's output for them, and a new comparison of each of its tensors."""


def disguise_findings(oracle: Oracle, draws: Iterable[Offered]) -> Iterator[Finding]:
    """A finding for each disguise that passes with all inputs. Raises ReferenceFailedError."""
    alive = {disguise.what for disguise in DISGUISES}
    for inputs, outputs, comparisons in draws:
        right = dict(oracle.pieces(inputs, outputs, outputs))
        model, dtype = oracle.wide_model, oracle.dtype
        if model is None or dtype is None or len(right) < len(outputs):
            return
        wide = [widened(value, dtype) for value in inputs]
        if not rounds_to_float8(model, wide):
            yield Finding("compute", "", "the reference rounds nothing to float8, so no output shows whether a submission does")
            return
        for disguise, answers in disguised(model, wide):
            found = list(comparisons())
            for number, comparison in enumerate(found):
                comparison.measure(OutputPiece(0, answers[number].to(outputs[number].dtype), outputs[number], right[number].oracle))
            if not all(comparison.passed for comparison in found):
                alive.discard(disguise.what)
    for what in sorted(alive):
        yield Finding("compute", "", f"the reference with {what} passes")
