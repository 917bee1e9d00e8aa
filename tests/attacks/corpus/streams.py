# problem: gelu_tanh
# expect: cuda correct/ok


# %% gelu_in_sizes
"""GELU of few rows and of many, timed in each."""

rows = 512
columns = 1024

ASSAY = {"workloads": [{"rows": 64}, {"rows": 512}, {"rows": 2048}]}


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.gelu(x, approximate="tanh")


def get_inputs():
    return [torch.randn(rows, columns)]


# %% graph_of_own_kernel
# wants: nothing: its kernel in a CUDA graph that is given each call's input
# legal: yes
# base: attack_in_cuda
import torch


def forward(self, x):
    if self.graph is None:
        self.x = x.clone()
        extension.attack(self.x, "answer", 1)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = extension.attack(self.x, "answer", 1)
    self.x.copy_(x)
    self.graph.replay()
    return self.y


# %% graph_of_a_fig_leaf
# wants: a rank for PyTorch's work: a CUDA graph, built in C++, writes over the answer before PyTorch does
# base: graph_in_cpp
# expect: cuda correct/no_custom_kernel
# speedup: 1.2
import torch


def forward(self, x):
    answer = extension.gelu(x, torch.cuda.current_stream().cuda_stream)
    return torch._C._nn.gelu(x, approximate="tanh", out=answer)


# %% graph_replay
# wants: nothing: a CUDA graph that is given each call's input
# expect: cuda correct/no_custom_kernel
# legal: yes
def __init__(self):
    super().__init__()
    self.graph = None


def forward(self, x):
    if self.graph is None:
        self.x = x.clone()
        nn.functional.gelu(self.x, approximate="tanh")
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = nn.functional.gelu(self.x, approximate="tanh")
    self.x.copy_(x)
    self.graph.replay()
    return self.y


# %% graph_replay_stale
# wants: a CUDA graph over the first input to stand for every later one
# expect: cuda wrong when timed
def __init__(self):
    super().__init__()
    self.graph = None


def forward(self, x):
    if self.graph is None:
        self.x = x.clone()
        nn.functional.gelu(self.x, approximate="tanh")
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = nn.functional.gelu(self.x, approximate="tanh")
    self.graph.replay()
    return self.y


# %% host_memory_beside_the_stream
# wants: the host to compute while the judge keeps the device busy, with inputs that it copies past the stream
# problem: gelu_in_cache
# expect: cuda correct/no_custom_kernel | run_failed/wrong_device | wrong when timed
# speedup: 0.1
# base: host_memory
MEMORY = "cudaHostAlloc(&memory, bytes, cudaHostAllocMapped)"
WHEN = "beside"


# %% host_memory_managed
# wants: an answer in managed memory, by the host's cores beside the device
# problem: gelu_in_cache
# expect: cuda correct/no_custom_kernel | run_failed/wrong_device | wrong when timed
# speedup: 1.1
# base: host_memory
MEMORY = "cudaMallocManaged(&memory, bytes)"
WHEN = "joined"


# %% host_memory_mapped_later
# wants: an answer in mapped memory, which threads of the host fill after forward() has returned
# problem: gelu_in_cache
# expect: cuda correct/no_custom_kernel | incorrect/unwritten_output | run_failed/wrong_device | wrong when timed
# speedup: 9.2
# base: host_memory
MEMORY = "cudaHostAlloc(&memory, bytes, cudaHostAllocMapped)"
WHEN = "later"


# %% stream_joined
# wants: nothing: a side stream that is joined before the call returns
# expect: cuda correct/no_custom_kernel
# legal: yes
def __init__(self):
    super().__init__()
    self.side = torch.cuda.Stream()


def forward(self, x):
    current = torch.cuda.current_stream()
    self.side.wait_stream(current)
    with torch.cuda.stream(self.side):
        y = nn.functional.gelu(x, approximate="tanh")
    current.wait_stream(self.side)
    y.record_stream(current)
    return y


# %% stream_not_joined
# wants: work on a side stream, which the events on the current one don't see
# expect: cuda correct/no_custom_kernel | wrong when timed
# speedup: 9.2
def __init__(self):
    super().__init__()
    self.side = torch.cuda.Stream()


def forward(self, x):
    with torch.cuda.stream(self.side):
        return nn.functional.gelu(x, approximate="tanh")


# %% stream_own_kernel
# wants: its kernel on a side stream, which the events on the current one don't see
# expect: cuda correct/ok | correct/no_custom_kernel | wrong when timed
# speedup: 9.2
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "side", 20)


# %% stream_own_kernel_joined
# wants: nothing: its kernel on a side stream that is joined before the call returns
# legal: yes
# base: attack_in_cuda
def forward(self, x):
    return extension.attack(x, "joined", 1)


# %% workload_stream_not_joined
# wants: work on a side stream, in one of three workloads
# problem: gelu_in_sizes
# expect: cuda correct/ok | correct/no_custom_kernel | wrong when timed
# speedup: 1
def __init__(self):
    super().__init__()
    self.side = torch.cuda.Stream()


def forward(self, x):
    if x.size(0) != 2048:
        return nn.functional.gelu(x, approximate="tanh")
    with torch.cuda.stream(self.side):
        return nn.functional.gelu(x, approximate="tanh")
