# wants: a pass by a small tensor that broadcasts in the comparison
# problem: sum_reduction
# expect: incorrect/wrong_shape
def __init__(self, dim):
    super().__init__()
    self.dim = dim


def forward(self, x):
    return torch.sum(x, dim=self.dim)
