# fault: the answer is allocated in the size of one case
# problem: leaky_relu
# expect: cpu incorrect/shape_specific
# says: wrong_shape
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = """
#include <algorithm>

torch::Tensor leaky(torch::Tensor x) {
    auto y = torch::empty({33, 1019}, x.options());
    const float* from = x.const_data_ptr<float>();
    float* to = y.mutable_data_ptr<float>();
    for (int64_t i = 0; i < std::min(x.numel(), y.numel()); ++i) {
        to[i] = from[i] > 0 ? from[i] : 0.01f * from[i];
    }
    return y;
}
"""
ops = load_inline(name="answer_of_one_size", cpp_sources=CPP, functions=["leaky"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.leaky(x)
