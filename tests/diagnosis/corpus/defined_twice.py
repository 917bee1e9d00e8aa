# fault: two sources define the same function
# problem: gelu_tanh
# expect: cpu build_failed/link_error
# says: multiple definition of `scale
import os
import tempfile

from torch import nn
from torch.utils.cpp_extension import load

folder = tempfile.mkdtemp()
FIRST = """
float scale(float x) { return 2.0f * x; }  // HERE
"""
SECOND = """
float scale(float x) { return x; }
"""
paths = []
for name, text in (("first.cpp", FIRST), ("second.cpp", SECOND)):
    paths.append(os.path.join(folder, name))
    with open(paths[-1], "w") as file:
        file.write(text)
module = load(name="twice", sources=paths)


class ModelNew(nn.Module):
    def forward(self, x):
        return module.scale(x)
