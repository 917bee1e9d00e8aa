# wants: a kill that looks like the judge's own
# problem: softmax
# expect: run_failed/process_crash
import os
import signal
import time


def forward(self, x):
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)
