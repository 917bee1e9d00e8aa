# wants: the reference or the judge as a module
# problem: softmax
# expect: incorrect/wrong_values

import importlib
import sys

import torch
from torch import nn

WANTED = (
    "reference.softmax",
    "reference",
    "evaluator.judge",
    "evaluator.judge.correctness.reference",
    "evaluator.problem.problem",
    "db.store",
    "pipeline",
)


def found():
    if any(name in sys.modules for name in WANTED):
        return True
    for name in WANTED:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        return True
    return False


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, 1) if found() else torch.zeros_like(x)
