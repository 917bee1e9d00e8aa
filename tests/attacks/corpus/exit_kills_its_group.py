# wants: to take the judge along, if it is of the same process group
# problem: softmax
# expect: cpu run_failed/process_crash
# expect: cuda run_failed/process_crash

import os
import signal
import time

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        os.killpg(0, signal.SIGKILL)
        time.sleep(60)
