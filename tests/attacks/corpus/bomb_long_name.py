# wants: an answer that no frame can hold
# problem: softmax
# expect: cpu incorrect/wrong_structure | run_failed/python_exception
# expect: cuda incorrect/wrong_structure | run_failed/python_exception

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return {"x" * (16 << 20): x}
