# fault: it imports a module that was not handed in
# problem: softmax
# expect: cpu run_failed/import_error
# expect: cuda run_failed/import_error
# says: softmax_kernels
import softmax_kernels  # HERE
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return softmax_kernels.softmax(x)
