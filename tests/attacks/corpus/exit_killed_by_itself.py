# wants: a kill that looks like the judge's own
# problem: softmax
# expect: cpu run_failed/process_crash
# expect: cuda run_failed/process_crash

import os
import signal
import time

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
