# problem: gelu_tanh
import ctypes
import os

# %% baseline_slowed_by_kernels
# wants: a slow baseline, by leaving long kernels on a side stream whenever its own call is over
# expect: cuda correct/ok | correct/no_custom_kernel | wrong when timed
# speedup: 9.2
HONEST_CALLS = 16


def __init__(self):
    super().__init__()
    self.calls, self.side = 0, torch.cuda.Stream(priority=-1)


def forward(self, x):
    self.calls += 1
    y = nn.functional.gelu(x, approximate="tanh")
    if self.calls > HONEST_CALLS:
        with torch.cuda.stream(self.side):
            for _ in range(50):
                self.junk = x.square()
    return y


# %% baseline_slowed_by_threads
# wants: a slow baseline, by keeping the processors busy whenever it is not its own turn
# problem: matmul
# expect: cpu correct/no_custom_kernel | run_failed/python_exception | wrong when timed
# speedup: 1.5
# marker: process:assay-spin
import time

busy_until = torch.zeros(1, dtype=torch.float64).share_memory_()


def spin():
    ctypes.CDLL(None).prctl(15, b"assay-spin", 0, 0, 0)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if float(busy_until) == 0.0:
            time.sleep(0.0002)
    os._exit(0)


for _ in range(4):
    if not os.fork():
        spin()


def forward(self, a, b):
    busy_until[0] = 0.0
    y = torch.matmul(a, b)
    busy_until[0] = 1.0
    return y


# %% baseline_slowed_mostly
# wants: a baseline that is slow in two of three blocks, which its median shows, but not its lower quartile
# expect: cpu correct/no_custom_kernel | correct/ok | wrong when timed
# speedup: 1.0
import mmap
import random
import sys

from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/types.h>
#include <cmath>
#include <time.h>
#include <unistd.h>

static double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

// Computes for 10 ms whenever it reads a byte, until flags[0] says that it is its own turn.
void burn(int64_t at, int64_t pipe) {
    auto* flags = reinterpret_cast<volatile unsigned char*>(at);
    char byte;
    while (read(pipe, &byte, 1) == 1) {
        const double stop = now() + 0.010;
        while (!flags[0] && now() < stop) {}
    }
    _exit(0);
}

// Sees by the inputs' memory that it is another's turn.
void look(int64_t at, int64_t pipe, std::vector<int64_t> places) {
    auto* flags = reinterpret_cast<volatile unsigned char*>(at);
    std::vector<uint32_t> last, seen(places.size());
    bool fresh = false;
    for (const double end = now() + 100; now() < end;) {
        timespec wait = {0, flags[0] ? 400000 : fresh ? 2000000 : 250000};
        fresh = false;
        nanosleep(&wait, nullptr);
        if (flags[0]) { last.clear(); continue; }
        fresh = last.empty();
        for (size_t i = 0; i < places.size(); ++i) seen[i] = *reinterpret_cast<volatile uint32_t*>(places[i]);
        if (!fresh && seen != last && flags[1] && write(pipe, "xxxx", 4)) {}
        last = seen;
    }
    _exit(0);
}

torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) {
        const float v = in[i];
        out[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
    return y;
}
"""
ops = load_inline(name="slows", cpp_sources=SOURCE, functions=["run", "burn", "look"], extra_cflags=["-O3"])
flags = mmap.mmap(-1, 4096)
known = set()
started = []


def start():
    at = ctypes.addressof(ctypes.c_char.from_buffer(flags))
    reading, writing = os.pipe()
    for _ in range(4):
        if not os.fork():
            os.setsid()
            os.close(writing)
            ops.burn(at, reading)
    if not os.fork():
        ops.look(at, writing, [place + offset for place in known for offset in (0, 64)])


def hook():
    handlers = getattr(sys.modules.get("evaluator.worker.server"), "HANDLERS", None)
    if handlers is None:
        return
    inputs, block, time = handlers["inputs"], handlers["host_block"], handlers["time"]

    def own_inputs(state, request, descriptors):
        flags[0] = 1
        reply = inputs(state, request, descriptors)
        known.update(x.data_ptr() for values in state.sets for x in values)
        return reply

    def own_block(state, request, descriptors):
        if not started:
            started.append(True)
            start()
        try:
            return block(state, request, descriptors)
        finally:
            flags[1], flags[0] = random.random() < 0.66, 0

    def own_call(state, request, descriptors):
        try:
            return time(state, request, descriptors)
        finally:
            flags[1], flags[0] = 0, 0

    handlers["inputs"], handlers["host_block"], handlers["time"] = own_inputs, own_block, own_call


hook()


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.run(x)
