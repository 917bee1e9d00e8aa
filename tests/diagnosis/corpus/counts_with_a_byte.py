# fault: a loop counter that is too narrow for its bound
# problem: leaky_relu
# expect: cpu run_failed/timeout
# says: endless loop
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
torch::Tensor leaky(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (volatile unsigned char i = 0; i < 300; ++i) out[i] = in[i] > 0 ? in[i] : 0.01f * in[i];
    return y;
}
"""
ops = load_inline(name="narrow_counter", cpp_sources=CPP, functions=["leaky"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.leaky(x)
