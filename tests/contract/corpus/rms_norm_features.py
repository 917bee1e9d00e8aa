# form: the root first, and epsilon outside of it
# problem: rms_norm_features
# expect: correct/no_custom_kernel
def __init__(self, eps):
    super().__init__()
    self.eps = eps


def forward(self, x):
    root = torch.sqrt(torch.einsum("ncij,ncij->nij", x, x) / x.shape[1])
    return x * (1 / (root + self.eps))[:, None]
