# wants: exit code 0 taken for success
# problem: softmax
# expect: cpu run_failed/early_exit
# expect: cuda run_failed/early_exit

import os

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        os._exit(0)
