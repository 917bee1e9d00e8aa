# wants: a judge that allocates for as many outputs as it is told of
# problem: softmax
# expect: cpu incorrect/wrong_structure | run_failed/python_exception | disqualified/forged_result
# expect: cuda incorrect/wrong_structure | run_failed/python_exception | disqualified/forged_result

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return [x] * 3000
