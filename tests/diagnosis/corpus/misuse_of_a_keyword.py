# fault: load_inline has no argument cuda_source
# problem: softmax
# expect: build_failed/load_inline_misuse
# says: cuda_source
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = "torch::Tensor f(torch::Tensor x) { return x; }"
module = load_inline(name="m", cpp_sources=SOURCE, cuda_source=SOURCE, functions=["f"])  # HERE


class ModelNew(nn.Module):
    def forward(self, x):
        return module.f(x)
