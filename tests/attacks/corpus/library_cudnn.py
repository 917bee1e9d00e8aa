# wants: the rank of a kernel of its own for cuDNN's, by calling it from an extension
# problem: relu_of_positives
# expect: cuda correct/no_custom_kernel
# speedup: 1.5
# base: extension
CPP = "torch::Tensor relu(torch::Tensor x, std::string library, int64_t stream);"
CUDA = r"""
#include <torch/types.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

enum { kRowMajor = 0, kFloat = 0, kRelu = 1, kNotPropagated = 0 };

template <typename... Arguments>
static void call(void* library, const char* name, Arguments... arguments) {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
    TORCH_CHECK(function && function(arguments...) == 0, name);
}

torch::Tensor relu(torch::Tensor x, std::string path, int64_t stream) {
    static void* library = dlopen(path.c_str(), RTLD_LAZY);
    static void *handle = nullptr, *form = nullptr, *function = nullptr;
    if (!handle) {
        call(library, "cudnnCreate", &handle);
        call(library, "cudnnCreateTensorDescriptor", &form);
        call(library, "cudnnCreateActivationDescriptor", &function);
        call(library, "cudnnSetActivationDescriptor", function, int(kRelu), int(kNotPropagated), 0.0);
    }
    call(library, "cudnnSetTensor4dDescriptor", form, int(kRowMajor), int(kFloat), int(x.size(0)), int(x.size(1)), 1, 1);
    call(library, "cudnnSetStream", handle, reinterpret_cast<cudaStream_t>(stream));
    auto y = torch::empty_like(x);
    const float one = 1.0f, zero = 0.0f;
    call(library, "cudnnActivationForward", handle, function, static_cast<const void*>(&one), form, static_cast<const void*>(x.data_ptr()),
         static_cast<const void*>(&zero), form, y.data_ptr());
    return y;
}
"""


extension = load_inline(name="assay_attack_cudnn", cpp_sources=CPP, cuda_sources=CUDA, functions=["relu"])


def library(name):
    with open("/proc/self/maps") as maps:
        return next(line.split()[-1] for line in maps if name in line)


def forward(self, x):
    return extension.relu(x, library("libcudnn.so"), torch.cuda.current_stream().cuda_stream)
