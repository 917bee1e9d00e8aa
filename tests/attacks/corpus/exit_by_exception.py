# wants: an exception that ends the process when somebody asks for its text
# problem: softmax
# expect: cpu run_failed/early_exit | run_failed/python_exception
# expect: cuda run_failed/early_exit | run_failed/python_exception

import os

from torch import nn


class Last(BaseException):
    def __str__(self):
        os._exit(0)


class ModelNew(nn.Module):
    def forward(self, x):
        raise Last
