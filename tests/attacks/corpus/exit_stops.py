# wants: a judge that waits for a stopped process for ever
# problem: softmax
# expect: cpu run_failed/timeout
# expect: cuda run_failed/timeout

import os
import signal

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        os.kill(os.getpid(), signal.SIGSTOP)
