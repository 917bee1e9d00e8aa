# problem: rms_norm
# expect: correct/no_custom_kernel
import tempfile
from pathlib import Path

import numpy
import torch
from torch import nn


# %% numpy_on_host
# form: computes in NumPy, in float64, on the memory of the tensor that it is given, and returns NumPy's memory
# expect: cpu correct/no_custom_kernel
def __init__(self, dim: int, eps: float):
    super().__init__()
    self.norm = nn.RMSNorm(dim, eps=eps)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    rows, weight = x.numpy().astype(numpy.float64), self.norm.weight.numpy().astype(numpy.float64)
    scale = numpy.sqrt(numpy.square(rows).mean(axis=1, keepdims=True) + self.norm.eps)
    return torch.from_numpy((rows / scale * weight).astype(numpy.float32))


# %% own_compiler_call
# form: calls the C compiler itself and binds the library with ctypes: a kernel, though no extension of PyTorch's
# problem: leaky_relu
# expect: cpu correct/no_custom_kernel
import ctypes
import subprocess

C = r"""
void leaky_relu(const float* in, float* out, long n, float slope) {
    for (long i = 0; i < n; ++i) out[i] = in[i] > 0.0f ? in[i] : in[i] * slope;
}
"""

folder = Path(tempfile.mkdtemp())
(folder / "leaky.c").write_text(C)
subprocess.run(["cc", "-O3", "-shared", "-fPIC", "leaky.c", "-o", "leaky.so"], cwd=folder, check=True)
library = ctypes.CDLL(str(folder / "leaky.so"))
library.leaky_relu.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_float


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        answer = torch.empty_like(x)
        library.leaky_relu(x.data_ptr(), answer.data_ptr(), x.numel(), self.negative_slope)
        return answer


# %% pinned_staging
# form: keeps a small table of its own in pinned memory and sends it to the device asynchronously in each call
# problem: embedding
# expect: cuda correct/no_custom_kernel
def __init__(self, entries: int, width: int):
    super().__init__()
    self.embedding = nn.Embedding(entries, width)
    self.scales = torch.ones(1024).pin_memory()


def forward(self, indices: torch.Tensor) -> torch.Tensor:
    scales = self.scales.to(indices.device, non_blocking=True)
    return self.embedding.weight.index_select(0, indices.flatten()).mul_(scales[0]).view(*indices.shape, -1)


# %% prints_much
# form: prints 50 MB while it is loaded, and some in every call, to both streams
# problem: sum_reduction
import sys

for number in range(50):
    print(f"table {number}: " + "0123456789abcdef" * 65536)


def __init__(self, dim: int):
    super().__init__()
    self.dim = dim


def forward(self, x: torch.Tensor) -> torch.Tensor:
    print("summing", tuple(x.shape), flush=True)
    print("along", self.dim, "\udce9\x1b[31m".encode(errors="replace"), file=sys.stderr)
    return x.sum(self.dim, keepdim=True)


# %% private_files
# form: keeps a log, a tuning table in its home folder and a memory-mapped copy of its weight in a temporary file
# problem: embedding
import json
import logging

FOLDER = Path(tempfile.mkdtemp(prefix="table-"))
CACHE = Path.home() / ".cache" / "tuning"
CACHE.mkdir(parents=True, exist_ok=True)
logging.basicConfig(filename=FOLDER / "log.txt", level=logging.DEBUG)


class ModelNew(nn.Module):
    def __init__(self, entries: int, width: int):
        super().__init__()
        self.embedding = nn.Embedding(entries, width)
        self.table: torch.Tensor | None = None

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        logging.debug("looking up %s", tuple(indices.shape))
        if self.table is None:
            weight = self.embedding.weight.detach()
            numpy.save(FOLDER / "weight.npy", weight.cpu().numpy())
            (CACHE / "shape.json").write_text(json.dumps(list(weight.shape)))
            self.table = torch.from_numpy(numpy.load(FOLDER / "weight.npy", mmap_mode="r+")).to(weight.device)
        return self.table[indices]


# %% slow_load
# form: takes three seconds to load
import time

time.sleep(3)


def __init__(self, dim: int, eps: float):
    super().__init__()
    self.norm = nn.RMSNorm(dim, eps=eps)
    nn.init.normal_(self.norm.weight, mean=1.0, std=0.25)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return nn.functional.rms_norm(x, self.norm.normalized_shape, self.norm.weight, self.norm.eps)


# %% thread_pool
# form: a pool of threads lives as long as the module does; every call waits for what it handed out
# problem: leaky_relu
from concurrent.futures import ThreadPoolExecutor


def __init__(self, negative_slope: float = 0.01):
    super().__init__()
    self.negative_slope = negative_slope
    self.pool = ThreadPoolExecutor(max_workers=3)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return torch.cat(list(self.pool.map(self.part, x.chunk(3))))


def part(self, x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, x, x * self.negative_slope)


# %% threads_joined
# form: each call starts two threads, each for half of the rows, and joins them
# problem: softmax
import threading


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        answer = torch.empty_like(x)
        half = x.size(0) // 2
        parts = (slice(0, half), slice(half, None))
        threads = [threading.Thread(target=self.rows, args=(x[part], answer[part])) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answer

    @staticmethod
    def rows(x: torch.Tensor, answer: torch.Tensor) -> None:
        with torch.no_grad():
            torch.softmax(x, dim=1, out=answer)
