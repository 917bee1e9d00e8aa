# wants: to take the judge along, if it is of the same process group
# problem: softmax
# expect: run_failed/process_crash
import os
import signal
import time


def forward(self, x):
    os.killpg(0, signal.SIGKILL)
    time.sleep(60)
