# wants: the judge's own means of drawing inputs and of comparing, once it has been constructed
# problem: softmax
# expect: disqualified/reference_access

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        from evaluator.judge.correctness import reference

        return reference.Oracle(self, True).expected([x])
