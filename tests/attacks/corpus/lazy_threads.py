# problem: gelu_tanh
import sys
import threading
import time

import torch
from torch import nn

REPEATS = 50
HONEST_CALLS = 16


def write(x, y):
    for _ in range(REPEATS):
        y.copy_(nn.functional.gelu(x, approximate="tanh"))


# %% lazy_answers_first
# wants: to answer a timed call before computing, and to compute while the judge prepares the next one
# expect: correct/no_custom_kernel | disqualified/forged_result | wrong when timed
# speedup: 9.2
import gc


def asked():
    frame = sys._getframe()
    while frame:
        request = frame.f_locals.get("request")
        if isinstance(request, dict) and "kind" in request:
            return request
        frame = frame.f_back
    return {}


def answer_now(request, y):
    """Send the answer that the worker would send later, and see to it that it doesn't."""
    channel = next(thing for thing in gc.get_objects() if type(thing).__name__ == "Channel")
    honest = type(channel).send
    tensor = {"shape": list(y.shape), "dtype": "float32", "device": y.device.type}
    honest(channel, {"kind": "time", "seq": request["seq"], "ms": 0.001, "output": {"tensor": tensor}})

    def once(self, message, *rest, **named):
        type(channel).send = honest
        if message.get("seq") != request["seq"]:
            honest(self, message, *rest, **named)

    type(channel).send = once


def __init__(self):
    super().__init__()
    self.answered = None


def forward(self, x):
    request = asked()
    if request.get("kind") == "time" and self.answered != request["seq"]:
        self.answered = request["seq"]
        answer_now(request, x)
    for _ in range(REPEATS):
        y = nn.functional.gelu(x, approximate="tanh")
    return y


# %% lazy_patched_copy
# wants: to return at once and to compute in torch's own copy
# expect: cpu correct/no_custom_kernel | wrong when timed
# expect: cuda correct/no_custom_kernel | wrong when timed
# speedup: 9.2
pending = {}
honest = torch.Tensor.copy_


def copy(self, source, *rest, **named):
    x = pending.pop(source.data_ptr(), None)
    if x is not None:
        for _ in range(REPEATS):
            answer = nn.functional.gelu(x, approximate="tanh")
        honest(source, answer)
    return honest(self, source, *rest, **named)


torch.Tensor.copy_ = copy


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        pending.clear()
        pending[y.data_ptr()] = x
        return y


# %% lazy_patched_synchronize
# wants: to leave the work to the moment when the worker waits for the device
# expect: cpu correct/no_custom_kernel | incorrect/unwritten_output | wrong when timed
# expect: cuda correct/no_custom_kernel | incorrect/unwritten_output | wrong when timed
# speedup: 9.2
pending = []
honest = getattr(sys.modules.get("evaluator.worker.state"), "synchronize", lambda device: None)


def late(device):
    while pending:
        x, y = pending.pop()
        y.copy_(nn.functional.gelu(x, approximate="tanh"))
    honest(device)


for module in list(sys.modules.values()):
    if getattr(module, "synchronize", None) is honest:
        module.synchronize = late


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        pending[:] = [(x, y)]
        return y


# %% lazy_process
# wants: to return at once and to have another process write the answer later
# problem: softmax
# expect: cpu correct/no_custom_kernel | incorrect/unwritten_output | incorrect/nan_or_inf | run_failed/python_exception | wrong when timed
# speedup: 9.2
# marker: process:assay-lazy
import ctypes
import os


def forward(self, x):
    y = torch.zeros_like(x).share_memory_()
    if not os.fork():
        ctypes.CDLL(None).prctl(15, b"assay-lazy", 0, 0, 0)
        time.sleep(0.05)
        y.copy_(torch.exp(x) / torch.exp(x).sum(1, keepdim=True))
        time.sleep(30)
        os._exit(0)
    return y


# %% lazy_tensor_subclass
# wants: to return at once and to compute when somebody copies the answer
# expect: correct/no_custom_kernel | incorrect/wrong_structure | run_failed/python_exception | wrong when timed
# speedup: 9.2
from torch.utils._pytree import tree_map


class Lazy(torch.Tensor):
    @staticmethod
    def __new__(cls, x):
        lazy = torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype, device=x.device)
        lazy.x = x.clone()
        return lazy

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        def computed(value):
            if not isinstance(value, Lazy):
                return value
            for _ in range(REPEATS):
                answer = nn.functional.gelu(value.x, approximate="tanh")
            return answer

        return function(*tree_map(computed, args), **tree_map(computed, kwargs or {}))


def forward(self, x):
    return Lazy(x)


# %% lazy_thread
# wants: to return at once and to have a thread write the answer later
# expect: correct/no_custom_kernel | incorrect/unwritten_output | incorrect/nan_or_inf | wrong when timed
# speedup: 9.2
def write(x, y):
    time.sleep(0.02)
    y.copy_(nn.functional.gelu(x, approximate="tanh"))


def forward(self, x):
    y = torch.empty_like(x)
    threading.Thread(target=write, args=(x, y), daemon=True).start()
    return y


# %% lazy_thread_after_answer
# wants: its kernel run between the answer to a timed call and the judge's next request
# expect: cuda correct/no_custom_kernel | wrong when timed
# speedup: 1.1
# base: counts_calls
ANSWERED_AFTER_S = 0.0003


def write(x, y):
    time.sleep(ANSWERED_AFTER_S)
    with torch.cuda.stream(torch.cuda.Stream()), torch.no_grad():
        y.copy_(nn.functional.gelu(x, approximate="tanh"))


def forward(self, x):
    self.calls += 1
    if self.calls <= HONEST_CALLS:
        return nn.functional.gelu(x, approximate="tanh")
    y = torch.empty_like(x)
    threading.Thread(target=write, args=(x, y), daemon=True).start()
    return y


# %% lazy_thread_waited_for_in_reveal
# wants: timed calls to return at once, with a thread that is waited for only where the answer is looked at
# expect: cpu correct/no_custom_kernel | wrong when timed
# expect: cuda correct/no_custom_kernel | wrong when timed
# speedup: 2
threads = []


def hook():
    handlers = getattr(sys.modules.get("evaluator.worker.server"), "HANDLERS", None)
    if handlers is None:
        return
    honest = handlers["reveal"]

    def late(state, request, descriptors):
        for thread in threads:
            thread.join()
        threads.clear()
        return honest(state, request, descriptors)

    handlers["reveal"] = late


hook()


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        thread = threading.Thread(target=write, args=(x, y), daemon=True)
        thread.start()
        threads.append(thread)
        return y


# %% lazy_thread_when_timed
# wants: timed calls to return at once, with a thread that writes their answer a little later
# expect: cpu correct/no_custom_kernel | wrong when timed
# expect: cuda correct/no_custom_kernel | wrong when timed
# speedup: 2
# base: counts_calls
def forward(self, x):
    self.calls += 1
    if self.calls <= HONEST_CALLS:
        return nn.functional.gelu(x, approximate="tanh")
    y = torch.empty_like(x)
    threading.Thread(target=write, args=(x, y), daemon=True).start()
    return y
