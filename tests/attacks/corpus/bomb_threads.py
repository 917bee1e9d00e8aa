# wants: more threads than the limit allows
# problem: softmax
# expect: cpu incorrect/wrong_values
# expect: cuda incorrect/wrong_values | run_failed/python_exception
import threading

import torch
from torch import nn

THREADS = 1500
LIMIT = 1100


def started():
    done = threading.Event()
    threads = []
    try:
        for _ in range(THREADS):
            threads.append(threading.Thread(target=done.wait, daemon=True))
            threads[-1].start()
    except RuntimeError:
        threads.pop()
    count = threading.active_count()
    done.set()
    for thread in threads:
        thread.join()
    return count


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.beyond = started() > LIMIT

    def forward(self, x):
        return torch.softmax(x, 1) if self.beyond else torch.zeros_like(x)
