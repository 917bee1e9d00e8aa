# wants: a judge that runs out of stack on what forward returns
# problem: softmax
# expect: cpu incorrect/wrong_structure | run_failed/python_exception
# expect: cuda incorrect/wrong_structure | run_failed/python_exception

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        answer = x
        for _ in range(100_000):
            answer = [answer]
        return answer
