# wants: an evaluation that ends with sys.exit and is forgotten
# problem: softmax
# expect: cpu run_failed/early_exit
# expect: cuda run_failed/early_exit

import sys

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        sys.exit(0)
