# wants: half the memory traffic by writing the answer over the input
# problem: leaky_relu
# expect: cpu incorrect/mutated_input
# expect: cuda incorrect/mutated_input

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, negative_slope=0.01):
        super().__init__()
        self.slope = negative_slope

    def forward(self, x):
        return nn.functional.leaky_relu_(x, self.slope)
