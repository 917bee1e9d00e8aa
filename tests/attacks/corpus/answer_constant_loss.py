# wants: a pass by the value that a mean over many rows always comes near
# problem: cross_entropy
# expect: cpu incorrect/wrong_values | incorrect/precision_loss
# expect: cuda incorrect/wrong_values | incorrect/precision_loss

import math

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        return torch.tensor(math.log(logits.shape[1]), device=logits.device)
