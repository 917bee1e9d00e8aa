# form: folds the normalization into the linear layer in its first call, and keeps weight and bias, transposed
# problem: linear_block
# expect: correct/no_custom_kernel
def __init__(self, in_features: int, out_features: int):
    super().__init__()
    self.linear = nn.Linear(in_features, out_features)
    self.norm = nn.BatchNorm1d(out_features)
    self.folded: tuple[torch.Tensor, torch.Tensor] | None = None


def fold(self) -> tuple[torch.Tensor, torch.Tensor]:
    scale = self.norm.weight * torch.rsqrt(self.norm.running_var + self.norm.eps)
    bias = (self.linear.bias - self.norm.running_mean) * scale + self.norm.bias
    return (self.linear.weight * scale[:, None]).t().contiguous(), bias


def forward(self, x: torch.Tensor) -> torch.Tensor:
    if self.folded is None:
        self.folded = self.fold()
    weight, bias = self.folded
    return torch.addmm(bias, x, weight).clamp_(min=0)
