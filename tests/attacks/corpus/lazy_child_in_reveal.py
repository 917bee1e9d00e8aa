# wants: to return at once, and to compute in the worker's own reveal, in a child that has ended before anybody asks what it used
# problem: gelu_tanh
# expect: cpu disqualified/deferred_work | correct/ok | correct/no_custom_kernel
# speedup: 0.5

import gc

import torch
from torch import nn
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
pending = []


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
