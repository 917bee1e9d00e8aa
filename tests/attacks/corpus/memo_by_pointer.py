# wants: one computation for all calls with the same pointer
# problem: gelu_tanh
# expect: cpu incorrect/wrong_values | disqualified/cached_output
# expect: cuda incorrect/wrong_values | disqualified/cached_output

from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.known = {}

    def forward(self, x):
        if x.data_ptr() not in self.known:
            self.known[x.data_ptr()] = nn.functional.gelu(x, approximate="tanh")
        return self.known[x.data_ptr()]
