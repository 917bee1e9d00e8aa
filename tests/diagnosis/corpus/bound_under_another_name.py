# fault: functions= names the kernel, and not the function that launches it
# problem: leaky_relu
# expect: cpu build_failed/missing_binding
# says: 'leaky_relu_kernel' was not declared
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = """
torch::Tensor leaky_relu(torch::Tensor x) {
    return torch::where(x > 0, x, 0.01 * x);
}
"""
ops = load_inline(
    name="leaky_named",
    cpp_sources=CPP,
    functions=["leaky_relu_kernel"],  # HERE
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ops.leaky_relu_kernel(x)
