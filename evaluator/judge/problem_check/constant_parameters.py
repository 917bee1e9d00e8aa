"""Finds parameters that a submission can leave out: they are one constant, whatever the seed."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.problem import ProblemCase
from evaluator.worker.nested import tensors_of


def constant_parameters(case: ProblemCase, oracle: Oracle, arguments: Sequence[Any]) -> Iterator[str]:
    """Names of parameters of one constant that change the answer once they are random. Raises what a call of the reference raises."""
    model = oracle.model
    alike = [(name, each.detach()) for name, each in model.named_parameters() if each.is_floating_point() and _is_constant(each.detach())]
    again = dict(case.model(fresh_seed(), "cpu").named_parameters()) if alike else {}
    for name, values in alike:
        if torch.equal(values.cpu(), again[name].detach()):
            before, kept = _answer(oracle, arguments), values.clone()
            values.copy_(values + torch.rand_like(values))
            after = _answer(oracle, arguments)
            values.copy_(kept)
            if not all(map(torch.equal, before, after)):
                yield name


def _is_constant(values: torch.Tensor) -> bool:
    return values.numel() > 0 and bool((values == values.flatten()[0]).all())


def _answer(oracle: Oracle, arguments: Sequence[Any]) -> list[torch.Tensor]:
    return [tensor.clone() for _, tensor in tensors_of(oracle.expected(arguments))]
