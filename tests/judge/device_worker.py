"""Runs in the sandbox: doubles the float32 values in the device memory that it is handed."""

import os
from collections.abc import Mapping

import torch

from evaluator.worker.memory import Mappings

ENTRY = f"{__name__}:main"


def main(descriptors: Mapping[str, int]) -> int:
    """Map descriptors["memory"], of NBYTES bytes, and double what is there."""
    device = torch.device("cuda:0")
    torch.zeros(1, device=device)
    nbytes = int(os.environ["NBYTES"])
    mappings = Mappings(device)
    mappings.add(1, nbytes, descriptors["memory"])
    values = mappings.tensor({"allocation": 1, "offset": 0, "shape": [nbytes // 4], "dtype": "float32"})
    values.mul_(2)
    torch.cuda.synchronize()
    mappings.remove(1)
    return 0
