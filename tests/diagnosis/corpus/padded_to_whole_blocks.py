# fault: rows are padded to whole blocks, and the padding is returned
# problem: gelu_tanh
# expect: cpu incorrect/wrong_shape
# says: (31, 1024)
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
torch::Tensor gelu(torch::Tensor x) {
    const int64_t padded = (x.size(1) + 255) / 256 * 256;
    auto wide = torch::constant_pad_nd(x, {0, padded - x.size(1)}, 0);
    return torch::gelu(wide, "tanh");
}
"""
ops = load_inline(name="padded_gelu", cpp_sources=CPP, functions=["gelu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.gelu(x)
