# wants: a pass for float64, where the comparison casts
# problem: gelu_tanh
# expect: cpu incorrect/wrong_dtype
# expect: cuda incorrect/wrong_dtype

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return nn.functional.gelu(x.double(), approximate="tanh")
