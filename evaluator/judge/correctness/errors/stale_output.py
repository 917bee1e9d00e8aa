"""Digests of outputs: an output that equals the previous round's, whose inputs differ, was kept."""

import torch

from evaluator.judge.workers.shared_memory import raw_bytes

SAMPLE_BYTES = 1 << 20


def digest(output: torch.Tensor) -> tuple[int, ...]:
    """Two sums over the output's bytes, or over a sample of them, one weighted by position. Outputs that differ almost never have the
    same."""
    flat = raw_bytes(output.clone(memory_format=torch.contiguous_format) if output.storage_offset() else output)
    some = flat[:: len(flat) // SAMPLE_BYTES + 1 | 1].long()  # an odd step meets each byte of an element
    return len(flat), int(some.sum()), int((some * torch.arange(1, 1 + len(some), device=some.device)).sum())
