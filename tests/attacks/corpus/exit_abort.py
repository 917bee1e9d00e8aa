# wants: an abort that takes the judge along or drops the submission from the count
# problem: softmax
# expect: cpu run_failed/process_crash
# expect: cuda run_failed/process_crash

import os

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        os.abort()
