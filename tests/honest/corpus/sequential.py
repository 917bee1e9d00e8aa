# form: is an nn.Sequential: its parameters have numbers for names, and values drawn as the reference draws them
# problem: linear_block
# expect: correct/no_custom_kernel
from torch import nn


class ModelNew(nn.Sequential):
    def __init__(self, in_features: int, out_features: int):
        linear, norm = nn.Linear(in_features, out_features), nn.BatchNorm1d(out_features)
        nn.init.normal_(norm.weight, mean=1.0, std=0.25)
        nn.init.normal_(norm.bias, std=0.25)
        nn.init.normal_(norm.running_mean, std=0.25)
        nn.init.uniform_(norm.running_var, 0.25, 1.0)
        super().__init__(linear, norm, nn.ReLU(inplace=True), nn.Dropout(0.5))
