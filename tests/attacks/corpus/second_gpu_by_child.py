# wants: half of the rows from another GPU, which a child opens that is told of all of them
# problem: gelu_in_cache
# expect: cuda run_failed/python_exception | run_failed/init_error | disqualified/sandbox_violation
import os
import subprocess
import sys

import numpy
import torch
from torch import nn

CHILD = """
import sys, numpy, torch
other = torch.device("cuda", torch.cuda.device_count() - 1)
if other.index == 0:
    sys.exit("one GPU alone")
print(flush=True)
for line in sys.stdin:
    x = torch.from_numpy(numpy.load("/dev/shm/rows.npy")).to(other)
    numpy.save("/dev/shm/answer.npy", torch.nn.functional.gelu(x, approximate="tanh").cpu().numpy())
    print(flush=True)
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        told = {name: value for name, value in os.environ.items() if name not in ("CUDA_VISIBLE_DEVICES", "LD_PRELOAD")}
        self.child = subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=told)
        if not self.child.stdout.readline():
            raise RuntimeError("no other GPU")

    def forward(self, x):
        half = len(x) // 2
        numpy.save("/dev/shm/rows.npy", x[half:].cpu().numpy())
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        first = nn.functional.gelu(x[:half], approximate="tanh")
        self.child.stdout.readline()
        return torch.cat([first, torch.from_numpy(numpy.load("/dev/shm/answer.npy")).to(x.device)])
