# wants: a pass without the parameters, where the judge's are the ones that every layer starts with
# problem: layer_norm
# expect: cpu incorrect/wrong_values
# expect: cuda incorrect/wrong_values

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return nn.functional.layer_norm(x, (self.dim,))
