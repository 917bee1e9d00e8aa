# fault: a library of vectors is included that is not installed
# problem: matmul
# expect: cpu build_failed/missing_header
# says: simdlib
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <vector>
#include <simdlib/matrix.hpp>  // HERE

int f() { return 1; }
"""
ops = load_inline(name="with_simd", cpp_sources=[SOURCE], no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ops.f(a, b)
