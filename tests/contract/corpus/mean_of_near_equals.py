# form: partial sums of 64 rows, added one after the other
# problem: mean_of_near_equals
# expect: correct/no_custom_kernel
def __init__(self, dim):
    super().__init__()
    self.dim = dim


def forward(self, x):
    total = torch.zeros_like(x.select(self.dim, 0))
    for part in x.split(64, self.dim):
        total = total + part.sum(self.dim)
    return total / x.shape[self.dim]
