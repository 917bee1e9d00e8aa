# problem: attention
# expect: cpu correct/no_custom_kernel
# expect: cuda correct/no_custom_kernel
"""float16 attention, written out with float16 products and a float32 softmax between them."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        scores = (query @ key.transpose(-1, -2)).float() * query.size(-1) ** -0.5
        return scores.softmax(dim=-1).half() @ value
