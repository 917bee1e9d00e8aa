"""Copies the worker's output into the judge's own memory, and reads it there."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from evaluator.judge.correctness.output_structure import ClaimedTensor
from evaluator.judge.correctness.row_sampling import Sample
from evaluator.judge.device.synchronize import synchronize
from evaluator.judge.workers.client import WorkerClient
from evaluator.judge.workers.input_buffers import same_bytes
from evaluator.judge.workers.shared_memory import Allocation, SharedMemory, describe
from evaluator.worker.nested import tensors

LARGE_BYTES = 1 << 30
"""For outputs above this total size, the worker frees its own memory after the copy, so that the judge's copy fits."""


def allocate_outputs(memory: SharedMemory, expected: Any) -> list[Allocation]:
    """Allocate the judge's memory for each tensor of an output."""
    return [memory.allocate(tensor.nbytes) for tensor in tensors(expected)]


def poison(worker: WorkerClient, outputs: Sequence[Allocation], deadline_s: float, pattern: int | None) -> None:
    """Fill the worker's free memory with this byte, so that unwritten output shows it; without a byte, stop that. outputs: the judge's
    memory for outputs of these sizes."""
    worker.request("poison", deadline_s, pattern=pattern, sizes=[allocation.requested for allocation in outputs])


def ask_to_reveal(
    worker: WorkerClient,
    outputs: Sequence[Allocation],
    claims: Sequence[ClaimedTensor],
    count: int,
    shapes: Sequence[torch.Tensor],
    deadline_s: float,
    spin_s: float = 0.0,
    release: bool = False,
    call: int | None = None,
) -> None:
    """Have the worker copy its last output into `outputs`, or that of one `call` of a block, and wait until it reports that this is done.

    spin_s: how long to wait without sleeping. release: the worker frees its own memory for large outputs.
    """
    views = views_into(outputs, claims, count, shapes)
    if outputs:
        synchronize(outputs[0].bytes.device)
    release = release and sum(allocation.nbytes for allocation in outputs) > LARGE_BYTES
    worker.request("reveal", deadline_s, spin_s=spin_s, outputs=views, release=release, call=call)


def views_into(
    outputs: Sequence[Allocation], claims: Sequence[ClaimedTensor], count: int, shapes: Sequence[torch.Tensor]
) -> list[dict[str, Any] | None]:
    """The place in `outputs` for each of the `count` tensors that a worker described, and its layout; None for those not in `claims`.

    `shapes` are those of `claims`. Fills `outputs` with NaN.
    """
    views: list[dict[str, Any] | None] = [None] * count
    for claim, allocation, tensor in zip(claims, outputs, shapes, strict=True):
        allocation.bytes.fill_(0xFF)  # NaN of every floating-point type
        order = {"order": claim.order} if claim.order else {}
        views[claim.number] = {**describe(allocation, 0, claim.laid_out(tensor)), **order}
    return views


def snapshot(
    outputs: Sequence[Allocation], claims: Sequence[ClaimedTensor], shapes: Sequence[torch.Tensor], sample: Sample | None = None
) -> list[torch.Tensor]:
    """A copy of `outputs`, or of a sample of their rows, as tensors of these shapes and dtypes. The worker can still write to `outputs`."""
    return copying(outputs, claims, shapes, sample)()


def copying(
    outputs: Sequence[Allocation], claims: Sequence[ClaimedTensor], shapes: Sequence[torch.Tensor], sample: Sample | None = None
) -> Callable[[], list[torch.Tensor]]:
    """A function that takes such a snapshot, once. Views and memory are prepared now, so it only enqueues the copies."""
    views = [
        claim.restored(allocation.view(claim.laid_out(tensor).shape, tensor.dtype))
        for claim, allocation, tensor in zip(claims, outputs, shapes, strict=True)
    ]
    if sample is None:
        copies = [torch.empty_like(view) for view in views]
        return lambda: [copy.copy_(view) for copy, view in zip(copies, views, strict=True)]
    parts = [sample.parts(view) for view in views]
    gathered = [view.new_empty((len(sample), *view.shape[1:])) for view in views]
    return lambda: [torch.cat(part, out=whole) for part, whole in zip(parts, gathered, strict=True)]


def holds(outputs: Sequence[Allocation], claims: Sequence[ClaimedTensor], values: Sequence[torch.Tensor]) -> bool:
    """Whether `outputs` hold exactly these values, in their order in memory."""
    return all(
        claim.order is None and same_bytes(allocation.view(value.shape, value.dtype), value)
        for claim, allocation, value in zip(claims, outputs, values, strict=True)
    )
