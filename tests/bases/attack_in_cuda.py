# CUDA kernels for attacks, by name.
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "torch::Tensor attack(torch::Tensor x, std::string what, int64_t repeats);"

CUDA = r"""
#include <torch/types.h>
#include <c10/cuda/CUDAStream.h>
#include <cassert>
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <cstring>

__global__ void gelu(const float* x, float* y, int64_t n, int repeats) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float result = 0.0f;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        const float v = reinterpret_cast<const volatile float*>(x)[i];
        result = 0.5f * v * (1.0f + tanhf(0.7978845608028654f * (v + 0.044715f * v * v * v)));
    }
    y[i] = result;
}

__global__ void nothing() {}
__global__ void endless(volatile int* flag) { while (*flag == 0) {} }
__global__ void far_away(float* p) { p[int64_t(1) << 50] = 1.0f; }
__global__ void misaligned(char* p) { *reinterpret_cast<float4*>(p + 4) = make_float4(1, 2, 3, 4); }
__global__ void refuse(int value) { assert(value == 1); }
__global__ void both_sides(float* p, int64_t n, int64_t reach) {
    for (int64_t i = threadIdx.x; i < reach; i += blockDim.x) { p[-1 - i] = 0.0f; p[n + i] = 0.0f; }
}

static int short_time(float* ms, void*, void*) { *ms = 0.001f; return 0; }

static void replace(void* function) {
    const auto address = reinterpret_cast<uintptr_t>(function);
    if (mprotect(reinterpret_cast<void*>(address & ~uintptr_t(4095)), 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) return;
    unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
    const auto target = reinterpret_cast<uintptr_t>(&short_time);
    std::memcpy(jump + 2, &target, 8);
    std::memcpy(function, jump, sizeof jump);
}

torch::Tensor attack(torch::Tensor x, std::string what, int64_t repeats) {
    static cudaStream_t side = nullptr;
    if (!side) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    const auto current = c10::cuda::getCurrentCUDAStream().stream();
    auto y = torch::empty_like(x);
    float* out = y.data_ptr<float>();
    const int64_t n = x.numel();
    const int64_t blocks = (n + 255) / 256;
    if (what == "endless") endless<<<1, 1, 0, current>>>(reinterpret_cast<volatile int*>(torch::zeros(1, x.options()).data_ptr<float>()));
    else if (what == "far_away") far_away<<<1, 1, 0, current>>>(out);
    else if (what == "misaligned") misaligned<<<1, 1, 0, current>>>(reinterpret_cast<char*>(out));
    else if (what == "refuse") refuse<<<1, 1, 0, current>>>(0);
    else if (what == "nothing") nothing<<<1, 1, 0, current>>>();
    else if (what == "both_sides") { y.zero_(); both_sides<<<1, 256, 0, current>>>(out, n, int64_t(1) << 24); }
    else if (what == "side") gelu<<<blocks, 256, 0, side>>>(x.data_ptr<float>(), out, n, repeats);
    else if (what == "joined") {
        cudaEvent_t before, after;
        cudaEventCreateWithFlags(&before, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&after, cudaEventDisableTiming);
        cudaEventRecord(before, current);
        cudaStreamWaitEvent(side, before, 0);
        gelu<<<blocks, 256, 0, side>>>(x.data_ptr<float>(), out, n, repeats);
        cudaEventRecord(after, side);
        cudaStreamWaitEvent(current, after, 0);
        cudaEventDestroy(before);
        cudaEventDestroy(after);
    }
    else if (what == "host") {
        y = torch::empty(x.sizes(), x.options().device(torch::kCPU));
        gelu<<<blocks, 256, 0, current>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, 1);
    }
    else {
        if (what == "events") replace(reinterpret_cast<void*>(&cudaEventElapsedTime));
        gelu<<<blocks, 256, 0, current>>>(x.data_ptr<float>(), out, n, repeats);
    }
    return y;
}
"""

extension = load_inline(name="assay_attack_cuda", cpp_sources=CPP, cuda_sources=CUDA, functions=["attack"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None
