# form: returns the last line of a running sum: a view with strides and an offset, over memory 257 times its size
# problem: sum_reduction
# expect: correct/no_custom_kernel
def __init__(self, dim: int):
    super().__init__()
    self.dim = dim


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return x.cumsum(dim=self.dim).narrow(self.dim, x.size(self.dim) - 1, 1)
