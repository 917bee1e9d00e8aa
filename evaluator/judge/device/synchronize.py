"""Waiting for the judge's own work on a GPU."""

import torch


def synchronize(device: torch.device) -> None:
    """Wait until what the judge wrote is there. The worker runs on streams of its own, so this comes before the worker is asked."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
