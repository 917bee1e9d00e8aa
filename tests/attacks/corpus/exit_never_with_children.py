# wants: children that outlive the deadline, where only the direct child is killed
# problem: softmax
# expect: run_failed/timeout
# marker: process:assay-orphan
import ctypes
import os
import signal
import time


def forward(self, x):
    for session in (False, True):
        if not os.fork():
            if session:
                os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            ctypes.CDLL(None).prctl(15, b"assay-orphan", 0, 0, 0)
            time.sleep(120)
            os._exit(0)
    time.sleep(120)
