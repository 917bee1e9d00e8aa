# wants: timed calls to return at once, with a thread that is waited for only where the answer is looked at
# problem: gelu_tanh
# expect: cpu disqualified/deferred_work | correct/no_custom_kernel
# speedup: 2
# expect: cuda disqualified/deferred_work | disqualified/cached_output

import sys
import threading

import torch
from torch import nn

REPEATS = 50
threads = []


def write(x, y):
    for _ in range(REPEATS):
        y.copy_(nn.functional.gelu(x, approximate="tanh"))


def hook():
    kind = getattr(sys.modules.get("evaluator.worker.server"), "Server", None)
    if kind is None:
        return
    honest = kind._reveal

    def late(self, request, descriptors):
        for thread in threads:
            thread.join()
        threads.clear()
        return honest(self, request, descriptors)

    kind._reveal = late


hook()


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        thread = threading.Thread(target=write, args=(x, y), daemon=True)
        thread.start()
        threads.append(thread)
        return y
