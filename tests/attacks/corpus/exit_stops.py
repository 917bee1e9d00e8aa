# wants: a judge that waits for a stopped process for ever
# problem: softmax
# expect: run_failed/timeout
import os
import signal


def forward(self, x):
    os.kill(os.getpid(), signal.SIGSTOP)
