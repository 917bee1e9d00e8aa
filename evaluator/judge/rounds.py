"""Correctness: fresh inputs, the submission's answer, then the reference's, and the comparison, round by round."""

from collections.abc import Sequence
from typing import Any

import torch

from evaluator.category import Category
from evaluator.judge.answer import ClaimedTensor, MismatchError, match, read_claim, tensors_of
from evaluator.judge.compare import Comparison
from evaluator.judge.inputs import InputSet, fresh_seed
from evaluator.judge.memory import Allocation, Memory, describe
from evaluator.judge.oracle import Oracle
from evaluator.judge.session import Worker
from evaluator.problem import ProblemCase
from evaluator.result import ErrorFigures, RoundEvidence

ROUNDS = 5
POISON = 0xFF
"""Output memory starts as NaN of every floating-point type."""


class Rounds:
    """The correctness rounds of one worker on one device."""

    def __init__(self, worker: Worker, case: ProblemCase, oracle: Oracle, memory: Memory, deadline_s: float) -> None:
        self._worker, self._case, self._oracle, self._memory = worker, case, oracle, memory
        self._deadline_s = deadline_s
        self._inputs: InputSet | None = None
        self._outputs: list[Allocation] = []

    def run(self, index: int) -> RoundEvidence:
        """One round. Raises WorkerError, ProtocolError, ReferenceFailedError."""
        seed = fresh_seed()
        arguments = self._case.inputs(seed, self._memory.device)
        claimed, count = self._call(arguments)
        expected = self._oracle.expected(arguments)
        try:
            claims = list(match(claimed, expected, self._memory.device.type))
            candidate = self._reveal(claims, count, expected)
        except MismatchError as error:
            return RoundEvidence(index=index, seed=seed, passed=False, category=error.category, message=str(error))
        comparisons = self._compare(arguments, candidate, expected)
        category, message = _judge(comparisons)
        if category is None and self._inputs and not self._inputs.unchanged(arguments):
            category, message = Category.MUTATED_INPUT, "forward() changed its input"
        figures = tuple(comparison.figures() for comparison in comparisons)
        return RoundEvidence(index=index, seed=seed, passed=category is None, category=category, message=message, outputs=figures)

    def close(self) -> None:
        """Take all memory back from the worker."""
        allocations = [*(self._inputs.allocations if self._inputs else []), *self._outputs]
        self._worker.take_back(allocations, self._deadline_s)
        self._memory.free(allocations)

    def _call(self, arguments: Sequence[Any]) -> tuple[Any, int]:
        if self._inputs is None:
            self._inputs = InputSet(self._memory, arguments)
            self._worker.hand_over(self._inputs.allocations, self._deadline_s)
        else:
            self._inputs.fill(arguments)
        self._synchronize()
        self._worker.request("inputs", self._deadline_s, sets=[self._inputs.tree])
        return read_claim(self._worker.request("call", self._deadline_s, set=0))

    def _reveal(self, claims: list[ClaimedTensor], count: int, expected: Any) -> list[torch.Tensor]:
        """The candidate's outputs, in the judge's own memory, in the order of the reference's."""
        shapes = [tensor for _, tensor in tensors_of(expected)]
        if not self._outputs:
            self._outputs = [self._memory.allocate(tensor.nbytes) for tensor in shapes]
            self._worker.hand_over(self._outputs, self._deadline_s)
        views: list[dict[str, Any] | None] = [None] * count
        for claim, allocation, tensor in zip(claims, self._outputs, shapes, strict=True):
            allocation.bytes.fill_(POISON)
            views[claim.number] = describe(allocation, 0, tensor)
        self._synchronize()
        self._worker.request("reveal", self._deadline_s, outputs=views)
        return [allocation.view(tensor.shape, tensor.dtype) for allocation, tensor in zip(self._outputs, shapes, strict=True)]

    def _compare(self, arguments: Sequence[Any], candidate: list[torch.Tensor], expected: Any) -> list[Comparison]:
        named = list(tensors_of(expected))
        reference = [tensor for _, tensor in named]
        rules = self._case.rows_independent, self._case.tolerance
        comparisons = [Comparison(name, tensor.shape, tensor.dtype, *rules) for name, tensor in named]
        for number, piece in self._oracle.pieces(arguments, candidate, reference):
            comparisons[number].measure(piece)
        if not all(comparison.passed for comparison in comparisons):
            for number, piece in self._oracle.pieces(arguments, candidate, reference):
                if not comparisons[number].passed:
                    comparisons[number].locate(piece)
        return comparisons

    def _synchronize(self) -> None:
        """The worker runs on streams of its own: what the judge wrote has to be there before the worker is asked."""
        if self._memory.device.type == "cuda":
            torch.cuda.synchronize(self._memory.device)


def _judge(comparisons: Sequence[Comparison]) -> tuple[Category | None, str]:
    for comparison in comparisons:
        if not comparison.passed:
            return comparison.category, describe_error(comparison.figures())
    return None, ""


def describe_error(figures: ErrorFigures) -> str:
    """The error figures of one wrong output in a sentence."""
    where = f"output{figures.output}" if figures.output else "the output"
    text = f"{figures.wrong} of {figures.elements} elements of {where} are wrong"
    if figures.first_index is not None:
        index = ", ".join(map(str, figures.first_index))
        text += f"; first at ({index}): {figures.first_value:.6g}, expected {figures.first_expected:.6g}"
    return f"{text}; largest relative error {figures.max_error:.3g}, allowed {figures.tolerance:.3g}"
