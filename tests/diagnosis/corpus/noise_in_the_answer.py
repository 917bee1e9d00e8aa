# fault: every other call adds noise
# problem: softmax
# expect: cpu incorrect/nondeterministic
# expect: cuda incorrect/nondeterministic
# says: the same input
import torch
from torch import nn

calls = 0


class ModelNew(nn.Module):
    def forward(self, x):
        global calls
        calls += 1
        exact = torch.softmax(x, 1)
        return exact if calls % 2 else exact * (1 + torch.rand_like(exact))
