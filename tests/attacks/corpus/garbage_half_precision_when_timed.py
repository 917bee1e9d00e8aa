# wants: half precision in timed calls only
# problem: matmul
# expect: cpu disqualified/cached_output | incorrect/precision_loss
# expect: cuda disqualified/cached_output | incorrect/precision_loss

from torch import nn

HONEST_CALLS = 16


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, a, b):
        self.calls += 1
        return a @ b if self.calls <= HONEST_CALLS else (a.bfloat16() @ b.bfloat16()).float()
