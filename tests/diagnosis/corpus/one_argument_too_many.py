# fault: a function is called with an argument that it does not take
# problem: gelu_tanh
# expect: cpu build_failed/cpp_compile_error
# says: too many arguments
from torch import nn
from torch.utils.cpp_extension import load_inline

GELU = r"""
#include <cmath>
static float inner(float v) { return 0.79788456f * (v + 0.044715f * v * v * v); }

void gelu(const float* in, float* out, long n) {
    for (long i = 0; i < n; ++i)
        out[i] = 0.5f * in[i] * (1.0f + std::tanh(inner(in[i], 0.044715f)));  // HERE
}
"""
module = load_inline(name="too_many", cpp_sources=GELU, no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, x):
        return module.gelu(x)
