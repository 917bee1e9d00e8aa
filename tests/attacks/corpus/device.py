# problem: gelu_tanh
# expect: cuda run_failed/python_exception | run_failed/init_error | disqualified/sandbox_violation


# %% device_assert
# wants: a context stopped by an assertion, and the judge's with it
# expect: cuda run_failed/device_assert
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "refuse", 1)


# %% device_endless
# wants: a device that is never free again
# expect: cuda run_failed/timeout
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "endless", 1)


# %% device_far_away
# wants: memory that is not its own, by an address far away
# expect: cuda run_failed/illegal_memory_access
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "far_away", 1)


# %% device_host_pointer
# wants: a kernel that writes to the host's memory
# expect: cuda run_failed/illegal_memory_access | run_failed/wrong_device
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "host", 1)


# %% device_launch_error_swallowed
# wants: a pass for a launch that the device refuses, whose error is dropped, where memory may hold what is nearly right
# problem: saturated_sums
# expect: cuda run_failed/invalid_launch | incorrect/unwritten_output | incorrect/wrong_values
# base: extension
CPP = "torch::Tensor sums(torch::Tensor x, int64_t stream);"
CUDA = r"""
#include <torch/types.h>
#include <cuda_runtime.h>

__global__ void sum_rows(const float* x, float* y, int64_t rows, int64_t columns) {
    extern __shared__ float kept[];
    const int64_t row = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (row >= rows) return;
    kept[threadIdx.x] = 0.0f;
    for (int64_t i = 0; i < columns; ++i) kept[threadIdx.x] += x[row * columns + i];
    y[row] = tanhf(kept[threadIdx.x] / 4.0f);
}

torch::Tensor sums(torch::Tensor x, int64_t stream) {
    torch::ones({x.size(0)}, x.options());  // what the answer's memory holds then
    auto y = torch::empty({x.size(0)}, x.options());
    sum_rows<<<(x.size(0) + 255) / 256, 256, 512 << 10, reinterpret_cast<cudaStream_t>(stream)>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    cudaGetLastError();
    return y;
}
"""


extension = load_inline(name="assay_attack_swallowed", cpp_sources=CPP, cuda_sources=CUDA, functions=["sums"])


def forward(self, x):
    return extension.sums(x, torch.cuda.current_stream().cuda_stream)


# %% device_misaligned
# wants: a context broken so that the judge's own breaks with it
# expect: cuda run_failed/misaligned_address
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "misaligned", 1)


# %% device_nothing
# wants: a pass for memory that its kernel never wrote
# expect: cuda incorrect/unwritten_output | incorrect/wrong_values | incorrect/nan_or_inf
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "nothing", 1)


# %% device_past_both_sides
# wants: zeros in the judge's memory too, by writing past its own output on both sides
# expect: cuda incorrect/wrong_values | run_failed/illegal_memory_access | incorrect/mutated_input
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "both_sides", 1)


# %% second_gpu_by_child
# wants: half of the rows from another GPU, which a child opens that is told of all of them
# problem: gelu_in_cache
import os
import subprocess
import sys

import numpy
import torch
from torch import nn

CHILD = """
import sys, numpy, torch
other = torch.device("cuda", torch.cuda.device_count() - 1)
if other.index == 0:
    sys.exit("one GPU alone")
print(flush=True)
for line in sys.stdin:
    x = torch.from_numpy(numpy.load("/dev/shm/rows.npy")).to(other)
    numpy.save("/dev/shm/answer.npy", torch.nn.functional.gelu(x, approximate="tanh").cpu().numpy())
    print(flush=True)
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        told = {name: value for name, value in os.environ.items() if name not in ("CUDA_VISIBLE_DEVICES", "LD_PRELOAD")}
        self.child = subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=told)
        if not self.child.stdout.readline():
            raise RuntimeError("no other GPU")

    def forward(self, x):
        half = len(x) // 2
        numpy.save("/dev/shm/rows.npy", x[half:].cpu().numpy())
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        first = nn.functional.gelu(x[:half], approximate="tanh")
        self.child.stdout.readline()
        return torch.cat([first, torch.from_numpy(numpy.load("/dev/shm/answer.npy")).to(x.device)])


# %% second_gpu_rows
# wants: half of the rows from another GPU
def forward(self, x):
    half = len(x) // 2
    y = torch.empty_like(x)
    other = nn.functional.gelu(x[half:].to("cuda:1"), approximate="tanh")
    y[:half] = nn.functional.gelu(x[:half], approximate="tanh")
    y[half:] = other
    return y
