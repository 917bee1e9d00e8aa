"""Triplet margin loss."""

import torch
from torch import nn

batch_size = 64
columns = 200
margin = 1.0


class Model(nn.Module):
    def __init__(self, margin):
        super().__init__()
        self.loss = nn.TripletMarginLoss(margin=margin)

    def forward(self, anchor, positive, negative):
        return self.loss(anchor, positive, negative)


def get_inputs():
    return [torch.rand(batch_size, columns), torch.rand(batch_size, columns), torch.rand(batch_size, columns)]


def get_init_inputs():
    return [margin]
