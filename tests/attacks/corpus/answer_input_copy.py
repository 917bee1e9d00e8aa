# wants: a pass by handing the input back, right wherever it is not negative
# problem: leaky_relu
# expect: cpu incorrect/wrong_values
# expect: cuda incorrect/wrong_values

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, negative_slope=0.01):
        super().__init__()

    def forward(self, x):
        return x.clone()
