# fault: a header of another system
# problem: topk
# expect: cpu build_failed/missing_header
# says: windows.h
from torch import nn
from torch.utils.cpp_extension import load_inline

TICKS = """
#include <windows.h>  // HERE
long ticks() { return GetTickCount(); }
"""


class ModelNew(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.clock = load_inline(name="ticks", cpp_sources=TICKS, no_implicit_headers=True)

    def forward(self, x):
        return self.clock.ticks()
