# fault: os._exit() ends the process
# problem: gelu_tanh
# expect: cpu run_failed/early_exit
# expect: cuda run_failed/early_exit
# says: exit code 7
import os

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        if x.numel() > 1:
            os._exit(7)
        return x
