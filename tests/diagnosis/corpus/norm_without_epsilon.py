# fault: the root mean square of a row of zeros is divided by
# problem: rms_norm
# expect: incorrect/nan_or_inf
# says: nan, expected 0
def __init__(self, dim, eps):
    super().__init__()
    self.norm = nn.RMSNorm(dim, eps=eps)


def forward(self, x):
    return x / x.square().mean(-1, keepdim=True).sqrt() * self.norm.weight
