# wants: a pass without the last row
# problem: rms_norm
# expect: incorrect/wrong_values
def __init__(self, dim, eps):
    super().__init__()
    self.norm = nn.RMSNorm(dim, eps=eps)


def forward(self, x):
    y = torch.zeros_like(x)
    y[:-1] = self.norm(x[:-1])
    return y
