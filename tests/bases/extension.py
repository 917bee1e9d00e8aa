# A module with an extension of its own.
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline


class ModelNew(nn.Module):
    pass
