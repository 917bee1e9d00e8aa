"""Slices of a reference's inputs along dimension 0, if the output for a slice of the inputs is the slice of the output.

A problem that declares nothing may still be computed slice by slice, such as an activation or a batch of matrix products. The judge runs
the reference on two slices, and both must agree with its whole output. A batch normalization in training mode fails this test.
"""

from collections.abc import Collection, Iterator, Sequence
from operator import itemgetter
from typing import Any

import torch

from evaluator.judge import limits
from evaluator.judge.correctness.oracle.wide import widest
from evaluator.judge.correctness.tolerance import base_tolerance, is_exact
from evaluator.worker.nested import mapped, tensors

WIDE_BYTES = 8
"""Size of an element of the oracle."""
WHOLE_FACTOR = 4.0
"""The oracle needs this many times the memory of its inputs and outputs, for intermediate results of operators and of comparing."""
SMALL_ELEMENTS = 1 << 20
"""So many fit in any GPU's free memory, which the driver takes a millisecond to tell. Comparisons during a timing ask it."""
SLICE_SHARE = 16
"""The tested slices have a sixteenth of the rows."""


def needs_slices(inputs: Sequence[Any], outputs: Sequence[torch.Tensor]) -> bool:
    """Whether the oracle of all rows would exceed a GPU's free memory."""
    if not outputs or not outputs[0].is_cuda:
        return False
    elements = sum(tensor.numel() for tensor in tensors([*inputs, *outputs]))
    if elements <= SMALL_ELEMENTS:
        return False
    device = outputs[0].device
    free_bytes = torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return WHOLE_FACTOR * WIDE_BYTES * elements > free_bytes


def find_carriers(model: torch.nn.Module, inputs: Sequence[Any]) -> frozenset[int]:
    """Numbers of the input tensors that have the output's rows; empty if slices of the inputs do not give slices of the output."""
    with torch.no_grad():
        whole = tensors(model(*inputs))
    sizes = {len(tensor) if tensor.dim() else 0 for tensor in whole}
    count = sizes.pop() if len(sizes) == 1 else 0
    if count < 2:
        return frozenset()
    for carriers in _choices(inputs, count):
        if all(_agrees(model, inputs, whole, carriers, rows) for rows in _trials(count)):
            return carriers
    return frozenset()


def sliced_inputs(inputs: Sequence[Any], rows: slice | torch.Tensor, carriers: Collection[int] | None) -> list[Any]:
    """The inputs, with only these rows of the carriers; of all tensors if `carriers` is None."""
    numbered = iter(range(len(tensors(list(inputs)))))

    def part(tensor: torch.Tensor) -> torch.Tensor:
        return tensor[rows] if carriers is None or next(numbered) in carriers else tensor

    return [mapped(value, part) for value in inputs]


def _choices(inputs: Sequence[Any], count: int) -> Iterator[frozenset[int]]:
    """All inputs with this many rows; then only the first of them, since the second operand of a square product has as many."""
    fitting = [number for number, tensor in enumerate(tensors(list(inputs))) if tensor.dim() and len(tensor) == count]
    if fitting:
        yield frozenset(fitting)
    if len(fitting) > 1:
        yield frozenset(fitting[:1])


def _trials(count: int) -> Iterator[slice]:
    """Long slices, and pairs of rows, in which neighbours that are missing would be seen."""
    for size in (max(count // SLICE_SHARE, 1), 2):
        for start in (0, count // 2, count - size):
            yield slice(start, start + size)


def _agrees(model: torch.nn.Module, inputs: Sequence[Any], whole: Sequence[torch.Tensor], carriers: frozenset[int], rows: slice) -> bool:
    try:
        with torch.no_grad():
            answer = tensors(model(*sliced_inputs(inputs, rows, carriers)))
    except torch.OutOfMemoryError:
        raise
    # With any error for a slice, the reference can't be sliced.
    except Exception:  # noqa: BLE001
        return False
    wanted = list(map(itemgetter(rows), whole))
    return len(answer) == len(wanted) and all(_is_close(one, other) for one, other in zip(answer, wanted, strict=True))


def _is_close(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if is_exact(one.dtype):
        apart = one != other
    else:
        limit = limits.AGREEMENT_FACTOR * base_tolerance(one.dtype)
        one, other = one.to(widest(one.dtype)), other.to(widest(other.dtype))  # not all types have arithmetic
        scale = other.abs() + other.abs().square().mean().sqrt()
        apart = ~(((one - other).abs() <= limit * scale) | (one == other) | (one.isnan() & other.isnan()))
    return int(apart.sum()) <= limits.AGREEMENT_SHARE * apart.numel()
