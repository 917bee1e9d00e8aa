"""Steps before a request to a worker on a GPU: wait for the judge's own work, and leave memory to the worker."""

import torch

LEAST_KEPT_BYTES = 1 << 30
"""Less than this is not worth freeing and allocating again."""
LEFT_FACTOR = 2
"""The device must have at least this many times as much free memory as the judge keeps unused."""


def synchronize(device: torch.device) -> None:
    """Wait until the judge's writes are done. The worker runs on its own streams, so call this before each request."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def leave_memory(device: torch.device) -> None:
    """Free the memory that PyTorch keeps unused for this process, if the device has little left: a worker may need it."""
    if device.type != "cuda":
        return
    kept_bytes = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    if kept_bytes > LEAST_KEPT_BYTES and LEFT_FACTOR * kept_bytes > torch.cuda.mem_get_info(device)[0]:
        torch.cuda.empty_cache()
