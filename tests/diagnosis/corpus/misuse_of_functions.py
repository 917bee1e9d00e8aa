# fault: functions= is a number
# problem: leaky_relu
# expect: build_failed/load_inline_misuse
# says: functions
from torch import nn
from torch.utils.cpp_extension import load_inline

COUNT = 1
extension = load_inline(  # HERE
    "counted", "torch::Tensor f(torch::Tensor x) { return x; }", functions=COUNT
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.f(x)
