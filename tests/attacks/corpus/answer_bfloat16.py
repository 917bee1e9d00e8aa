# wants: matrix units by computing in bfloat16
# problem: matmul
# expect: cpu incorrect/precision_loss | incorrect/wrong_values
# expect: cuda incorrect/precision_loss | incorrect/wrong_values

from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (a.bfloat16() @ b.bfloat16()).float()
