# A module.
import torch
from torch import nn


class ModelNew(nn.Module):
    pass
