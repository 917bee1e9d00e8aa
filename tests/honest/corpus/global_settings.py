# form: changes what can be set for the whole process: threads, gradients, cuDNN's search, the default type, the seed
# problem: conv2d
# expect: correct/no_custom_kernel
import random
import signal
import sys
import warnings

import torch
from torch import nn

torch.set_num_threads(1)
torch.set_grad_enabled(False)
torch.set_float32_matmul_precision("highest")
torch.backends.cudnn.benchmark = True
torch.manual_seed(20240229)
random.seed(7)
warnings.simplefilter("error")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.setrecursionlimit(5000)


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int):
        super().__init__()
        torch.manual_seed(0)
        torch.set_default_dtype(torch.float64)
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=kernel_size // 2, dtype=torch.float32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)
