# wants: exit code 0 taken for success, before anything was asked
# problem: softmax
# expect: run_failed/early_exit
import os

from torch import nn

os._exit(0)


class ModelNew(nn.Module):
    pass
