# fault: rows beyond a multiple of eight are never written
# problem: layer_norm
# expect: cpu incorrect/unwritten_output
# expect: cuda incorrect/unwritten_output
# says: never written
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        rows = x.reshape(-1, x.size(-1))
        out = torch.empty_like(rows)
        whole = rows.size(0) // 8 * 8
        if whole == rows.size(0):
            whole -= 1
        out[:whole] = self.norm(rows[:whole])
        return out.view_as(x)
