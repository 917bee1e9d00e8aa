# wants: a judge that waits for an answer on a channel that was closed
# problem: softmax
# expect: disqualified/forged_result | run_failed/timeout
import os
import time


def forward(self, x):
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                os.close(int(name))
        except OSError:
            continue
    time.sleep(60)
