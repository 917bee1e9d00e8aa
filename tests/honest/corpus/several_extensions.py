# form: two extensions: one looks at the input to choose how, the other does the work
# problem: leaky_relu
# expect: cpu correct/ok
# base: leaky_relu_in_cpp
FAST = r"""
#include <torch/types.h>
#include <cmath>

torch::Tensor gelu(torch::Tensor x) {
    TORCH_CHECK(x.is_contiguous() && x.scalar_type() == torch::kFloat32, "expected contiguous float32");
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) {
        const float v = in[i];
        out[i] = 0.5f * v * (1.0f + std::tanh(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
    return y;
}

double share_above_zero(torch::Tensor x) {
    const float* in = x.data_ptr<float>();
    int64_t above = 0;
    for (int64_t i = 0; i < x.numel(); ++i) above += in[i] > 0.0f;
    return static_cast<double>(above) / std::max<int64_t>(x.numel(), 1);
}
"""


bending = load_inline(name="honest_bend", cpp_sources=[CPP], functions=["bend"], extra_cflags=["-O3"])


fast = load_inline(
    name="honest_fast", cpp_sources=FAST, functions=["gelu", "share_above_zero"], extra_cflags=["-O3 -ffast-math", "-march=native"]
)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return x.clone() if fast.share_above_zero(x) == 1.0 else bending.bend(x, self.negative_slope)
