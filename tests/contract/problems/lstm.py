"""An LSTM and a linear layer on its last step."""

import torch
from torch import nn

batch_size = 5
length = 12
width = 20
hidden = 24
classes = 6


class Model(nn.Module):
    def __init__(self, width, hidden, classes):
        super().__init__()
        self.lstm = nn.LSTM(width, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x, h0, c0):
        out, _ = self.lstm(x, (h0, c0))
        return self.fc(out[:, -1])


def get_inputs():
    return [torch.rand(batch_size, length, width), torch.rand(1, batch_size, hidden), torch.rand(1, batch_size, hidden)]


def get_init_inputs():
    return [width, hidden, classes]
