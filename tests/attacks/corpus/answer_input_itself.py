# wants: a pass by the input itself, whose memory the judge has filled
# problem: gelu_tanh
# expect: cpu incorrect/wrong_values
# expect: cuda incorrect/wrong_values

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x
