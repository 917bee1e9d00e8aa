"""Before a worker is asked on a GPU: waiting for the judge's own work, and leaving it memory."""

import torch

LEAST_KEPT_BYTES = 1 << 30
"""Less is not worth to be given back and allocated again."""
LEFT_FACTOR = 2
"""The device has at least so many times as much left as the judge keeps unused."""


def synchronize(device: torch.device) -> None:
    """Wait until what the judge wrote is there. The worker runs on streams of its own, so this comes before the worker is asked."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def leave_memory(device: torch.device) -> None:
    """Give back what PyTorch keeps unused for this process, where the device has little left beside it: a worker may need it."""
    if device.type != "cuda":
        return
    kept_bytes = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    if kept_bytes > LEAST_KEPT_BYTES and LEFT_FACTOR * kept_bytes > torch.cuda.mem_get_info(device)[0]:
        torch.cuda.empty_cache()
