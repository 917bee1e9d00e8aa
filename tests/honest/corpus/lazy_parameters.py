# form: lazy layers: their parameters have no shape before they are given values or meet an input
# problem: linear_block
# expect: correct/no_custom_kernel
def __init__(self, _: int, out_features: int):
    super().__init__()
    self.linear = nn.LazyLinear(out_features)
    self.norm = nn.LazyBatchNorm1d()


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return torch.relu(self.norm(self.linear(x)))
