"""Takes fewer rows of a case: if rows are independent, a check of some says what a check of all would.

A CPU needs hours for the sizes of a GPU. Row i of every output depends on row i of every input alone, so fewer rows are a smaller instance
of the problem, with rows of the same length.
"""

from collections.abc import Sequence

import torch

from evaluator.judge.correctness.row_sampling import common_rows
from evaluator.problem.execute import ProblemError
from evaluator.problem.problem import ProblemCase
from evaluator.worker.nested import tensors

MOST_ELEMENTS = 1 << 22
"""Elements of the largest tensor with fewer rows: the oracle still takes it in two chunks, which shows rows that are not independent."""
LEAST_ROWS = 2
"""Minimum rows, however long: one is skipped beside another."""


def with_fewer_rows(case: ProblemCase) -> ProblemCase:
    """The case with a constant halved until its tensors are small; the case itself if it has no constant that sets its rows alone.

    Raises ProblemError.
    """
    if not case.rows_independent or case.stored:
        return case
    try:
        inputs = _input_shapes(case)
    except ProblemError:  # its random functions do not work without memory
        return case
    rows = common_rows([torch.empty(shape, device="meta") for shape in inputs], [])
    if rows is None:
        return case
    halvings, elements = 0, max(shape.numel() for shape in (*inputs, *_output_shapes(case)))
    while elements >> halvings > MOST_ELEMENTS and rows >> (halvings + 1) >= LEAST_ROWS:
        halvings += 1
    for name, value in case.settings.items() if halvings else ():
        if isinstance(value, int) and value >> halvings:
            fewer = _with(case, name, value >> halvings)
            wanted = [torch.Size([rows * (value >> halvings) // value, *shape[1:]]) for shape in inputs]
            if _input_shapes(fewer) == wanted:
                return fewer
    return case


def _with(case: ProblemCase, name: str, value: int) -> ProblemCase:
    fewer = case.problem.instance(case.name)
    fewer.constants[name] = value
    setattr(fewer.module, name, value)
    return fewer


def _input_shapes(case: ProblemCase) -> Sequence[torch.Size]:
    return [tensor.shape for tensor in tensors(case.inputs(0, "meta"))]


def _output_shapes(case: ProblemCase) -> Sequence[torch.Size]:
    """Shapes of the outputs; empty if the reference does not run without values."""
    model = case.on_meta
    if model is None:
        return []
    try:
        with torch.no_grad():
            return [tensor.shape for tensor in tensors(model(*case.inputs(0, "meta")))]
    except Exception:  # noqa: BLE001 - its shapes may depend on values
        return []
