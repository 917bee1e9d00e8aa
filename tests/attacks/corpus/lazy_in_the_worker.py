# problem: gelu_tanh
# expect: cpu correct/no_custom_kernel | wrong when timed
# expect: cuda correct/no_custom_kernel | wrong when timed
# speedup: 9.2
import gc
import sys

import torch
from torch import nn

pending = []
REPEATS = 50


def described(y):
    return {"tensor": {"shape": list(y.shape), "dtype": "float32", "device": y.device.type}}


# %% lazy_child_in_reveal
# wants: to return at once, and to compute in the worker's own reveal, in a child that has ended before anybody asks what it used
# expect: cpu correct/ok | correct/no_custom_kernel | wrong when timed
# speedup: 0.5
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/types.h>
#include <torch/csrc/utils/pybind.h>
#include <sched.h>
#include <signal.h>
#include <cmath>
#include <vector>

struct Work { const float* in; float* out; int64_t n, passes; };

static int gelu(void* given) {
    const Work& work = *static_cast<Work*>(given);
    for (int64_t pass = 0; pass < work.passes; ++pass)
        for (int64_t i = 0; i < work.n; ++i) {
            const float x = work.in[i];
            work.out[i] = 0.5f * x * (1.0f + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
        }
    return 0;
}

void gelu_in_a_child(torch::Tensor x, torch::Tensor y) {
    static std::vector<char> stack(1 << 20);
    signal(SIGCHLD, SIG_IGN);
    Work work{x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), 10};
    if (clone(gelu, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, &work) < 0) throw std::runtime_error("no child");
}
"""

extension = load_inline(name="assay_attack_child_in_reveal", cpp_sources=CPP, functions=["gelu_in_a_child"])


def hook():
    for thing in gc.get_objects():
        if type(thing).__name__ == "Server" and hasattr(type(thing), "answer"):
            handlers = type(thing).answer.__globals__["HANDLERS"]
            break
    else:
        return
    honest = handlers["reveal"]

    def late(state, request, descriptors):
        for x, y in pending:
            extension.gelu_in_a_child(x, y)
        pending.clear()
        return honest(state, request, descriptors)

    handlers["reveal"] = late


hook()


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        pending.append((x, y))  # several calls may come before one reveal
        return y


# %% lazy_hooked_block
# wants: to skip blocks of timed calls altogether, not calls on their own, and to compute in the reveal what is asked for
# expect: correct/no_custom_kernel | wrong when timed
# speedup: 9.2
def hook():
    handlers = getattr(sys.modules.get("evaluator.worker.server"), "HANDLERS", None)
    timing = sys.modules.get("evaluator.worker.handlers.timing")
    if handlers is None or timing is None:
        return
    reveal = handlers["reveal"]

    def no_block(state, request, descriptors):
        state.late = [state.sets[position] for position in request["sets"]]
        for flush in request["flushes"]:
            if flush is not None:
                timing.flush(state, flush)
        times = [0.001] * (len(state.late) if request["apart"] else 1)
        return {"ms": times, "host_ms": [0.01] * len(state.late), **nothing(state)}

    def no_host_block(state, request, descriptors):
        state.late = [state.sets[position] for position in request["sets"]]
        return nothing(state)

    def nothing(state):
        state.outputs = [[torch.empty_like(inputs[0])] for inputs in state.late]
        return {"outputs": [described(output[0]) for output in state.outputs]}

    def late(state, request, descriptors):
        if request.get("call") is not None:
            for _ in range(REPEATS):
                state.outputs[request["call"]] = [state.model(*state.late[request["call"]])]
        return reveal(state, request, descriptors)

    handlers["block"], handlers["host_block"], handlers["reveal"] = no_block, no_host_block, late


hook()


class ModelNew(nn.Module):
    def forward(self, x):
        return nn.functional.gelu(x, approximate="tanh")


# %% lazy_hooked_reveal
# wants: to return at once and to compute in the worker's own reveal
def hook():
    for thing in gc.get_objects():
        if type(thing).__name__ == "Server" and hasattr(type(thing), "answer"):
            handlers = type(thing).answer.__globals__["HANDLERS"]
            break
    else:
        return
    honest = handlers["reveal"]

    def late(state, request, descriptors):
        for x, y in pending:
            for _ in range(REPEATS):
                y.copy_(nn.functional.gelu(x, approximate="tanh"))
        return honest(state, request, descriptors)

    handlers["reveal"] = late


hook()


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        pending[:] = [(x, y)]
        return y


# %% lazy_hooked_reveal_mostly
# wants: to compute two calls of three only if they are looked at, and the third at once, so that the fastest reveal is an honest one
def hook():
    handlers = getattr(sys.modules.get("evaluator.worker.server"), "HANDLERS", None)
    if handlers is None:
        return
    honest = handlers["reveal"]

    def late(state, request, descriptors):
        while pending:
            work(*pending.pop())
        return honest(state, request, descriptors)

    handlers["reveal"] = late


def work(x, y):
    for _ in range(REPEATS):
        y.copy_(nn.functional.gelu(x, approximate="tanh"))


hook()


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = torch.empty_like(x)
        if self.calls % 3 == 0:
            work(x, y)
        else:
            pending[:] = [(x, y)]
        return y


# %% lazy_hooked_time
# wants: to skip the timed calls altogether, and to compute in the reveal if there is one
# expect: cpu correct/no_custom_kernel | wrong when timed
# expect: cuda correct/no_custom_kernel | wrong when timed
# speedup: 9.2
def hook():
    handlers = getattr(sys.modules.get("evaluator.worker.server"), "HANDLERS", None)
    if handlers is None:
        return
    reveal = handlers["reveal"]

    def no_time(state, request, descriptors):
        state.late = state.sets[request["set"]]
        state.output = [torch.empty_like(state.late[0])]
        return {"ms": 0.001, "output": described(state.output[0])}

    def no_block(state, request, descriptors):
        state.block = [state.sets[position] for position in request["sets"]]
        state.outputs = [[torch.empty_like(inputs[0])] for inputs in state.block]
        return {"outputs": [described(output[0]) for output in state.outputs]}

    def late(state, request, descriptors):
        call, inputs, state.late = request.get("call"), getattr(state, "late", None), None
        if call is not None and hasattr(state, "block"):
            for _ in range(REPEATS):
                state.outputs[call] = [state.model(*state.block[call])]
        elif inputs is not None:
            for _ in range(REPEATS):
                state.output = [state.model(*inputs)]
        return reveal(state, request, descriptors)

    handlers["time"], handlers["host_block"], handlers["reveal"] = no_time, no_block, late


hook()


class ModelNew(nn.Module):
    def forward(self, x):
        return nn.functional.gelu(x, approximate="tanh")
