# wants: to have the answer follow the input, by returning a view of the input's memory
# problem: sum_reduction
# expect: cpu incorrect/wrong_values
# expect: cuda incorrect/wrong_values

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()

    def forward(self, x):
        return x[:, :1]
