# form: a product in blocks of the inner dimension, and the factor applied to the weight
# problem: gemm_scale_clamp
# expect: correct/no_custom_kernel
def __init__(self, width, hidden, factor):
    super().__init__()
    self.gemm = nn.Linear(width, hidden)
    self.factor = factor


def forward(self, x):
    y = self.gemm.bias * self.factor
    for start in range(0, x.shape[1], 64):
        y = y + x[:, start : start + 64] @ (self.gemm.weight[:, start : start + 64] * self.factor).T
    y = torch.where(y > 1, 1.0, torch.where(y < -1, -1.0, y))
    return 0.5 * y * (1 + torch.erf(y / 2**0.5))
