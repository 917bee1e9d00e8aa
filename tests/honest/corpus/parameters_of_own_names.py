# form: parameters under names of its own, drawn in the reference's order from the same seed
# problem: layer_norm
# expect: correct/no_custom_kernel
def __init__(self, dim: int):
    super().__init__()
    self.gamma = nn.Parameter(torch.empty(dim).normal_(mean=1.0, std=0.25))
    self.beta = nn.Parameter(torch.empty(dim).normal_(std=0.25))


def forward(self, x: torch.Tensor) -> torch.Tensor:
    deviation = x - x.mean(dim=-1, keepdim=True)
    variance = deviation.square().mean(dim=-1, keepdim=True)
    return deviation * torch.rsqrt(variance + 1e-5) * self.gamma + self.beta
