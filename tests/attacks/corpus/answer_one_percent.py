# wants: a pass where one element in a hundred may be anything
# problem: gelu_tanh
# expect: cpu incorrect/wrong_values
# expect: cuda incorrect/wrong_values

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = nn.functional.gelu(x, approximate="tanh")
        y.view(-1)[::100] = 7.0
        return y
