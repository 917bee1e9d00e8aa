# GELU by a CUDA graph that C++ builds (BUILD) in the first call of a size, and changes (CHANGE) in later ones; or builds ANEW in each call.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

BUILD = "made.add(graph, kernel);"
CHANGE = "made.set(cudaGraphExecKernelNodeSetParams(made.exec, made.node, &kernel));"
ANEW = "false"
CPP = "torch::Tensor gelu(torch::Tensor x, int64_t stream);"

TEMPLATE = r"""
#include <map>
#include <torch/types.h>
#include <cuda_runtime.h>

__global__ void gelu_of(const float* x, float* y, int64_t n) {
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step) {
        const float v = x[i];
        y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
}

struct Made {
    cudaGraphExec_t exec = nullptr;
    cudaGraphNode_t node = nullptr;
    void set(cudaError_t code) { TORCH_CHECK(code == cudaSuccess, cudaGetErrorString(code)); }
    void add(cudaGraph_t graph, const cudaKernelNodeParams& kernel) { set(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel)); }
};

torch::Tensor gelu(torch::Tensor x, int64_t stream) {
    static std::map<int64_t, Made> all;
    TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "expected a contiguous tensor");
    auto y = torch::empty_like(x);
    const float* from = x.data_ptr<float>();
    float* to = y.data_ptr<float>();
    int64_t n = x.numel();
    void* arguments[] = {&from, &to, &n};
    cudaKernelNodeParams kernel = {};
    kernel.func = reinterpret_cast<void*>(gelu_of);
    kernel.gridDim = dim3(1056);
    kernel.blockDim = dim3(512);
    kernel.kernelParams = arguments;
    Made& made = all[n];
    cudaGraph_t graph = nullptr;
    if (made.exec == nullptr || ANEW) {
        made.set(cudaGraphCreate(&graph, 0));
        BUILD
    }
    if (made.exec == nullptr) {
        made.set(cudaGraphInstantiate(&made.exec, graph, 0));
    } else {
        CHANGE
    }
    made.set(cudaGraphLaunch(made.exec, reinterpret_cast<cudaStream_t>(stream)));
    return y;
}
"""
CUDA = TEMPLATE.replace("BUILD", BUILD).replace("CHANGE", CHANGE).replace("ANEW", ANEW)
extension = load_inline(name="honest_graph_in_cpp", cpp_sources=CPP, cuda_sources=CUDA, functions=["gelu"])


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.gelu(x, torch.cuda.current_stream().cuda_stream)
