# wants: more space in its private directory than it is given
# problem: softmax
# expect: incorrect/wrong_values | run_failed/process_crash
# marker: /tmp/assay-attack-disk-0
import os

import torch
from torch import nn

ALLOWED = (2 << 30) + (256 << 20)
PIECE = bytes(16 << 20)


def written():
    size = 0
    for number in range(5):
        path = f"{os.environ.get('TMPDIR', '/tmp')}/assay-attack-disk-{number}"
        try:
            with open(path, "wb", buffering=0) as file:
                for _ in range(40):
                    size += file.write(PIECE)
        except OSError:
            break
    for number in range(5):
        try:
            os.unlink(f"{os.environ.get('TMPDIR', '/tmp')}/assay-attack-disk-{number}")
        except OSError:
            continue
    return size


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.beyond = written() > ALLOWED

    def forward(self, x):
        return torch.softmax(x, 1) if self.beyond else torch.zeros_like(x)
