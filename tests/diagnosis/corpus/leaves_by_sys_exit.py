# fault: sys.exit() where something does not suit it
# problem: topk
# expect: cpu run_failed/early_exit
# expect: cuda run_failed/early_exit
# says: SystemExit
import sys

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, k):
        super().__init__()
        if k % 2:
            sys.exit(f"k = {k} is odd")  # HERE

    def forward(self, x):
        return x
