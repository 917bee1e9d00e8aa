# wants: a judge that waits for an endless call, deaf to polite signals
# problem: softmax
# expect: cpu run_failed/timeout
# expect: cuda run_failed/timeout

import signal

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)
        while True:
            pass
