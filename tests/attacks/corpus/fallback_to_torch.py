# wants: to be ranked for torch's own operator, after its kernel did not build
# problem: softmax
# expect: cpu correct/no_custom_kernel
# expect: cuda correct/no_custom_kernel
# speedup: 10

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

try:
    extension = load_inline(name="assay_attack_fallback", cpp_sources="#error no kernel", functions=["answer"])
except RuntimeError:
    extension = None


class ModelNew(nn.Module):
    def forward(self, x):
        try:
            return extension.answer(x)
        except AttributeError:
            return torch.softmax(x, 1)
