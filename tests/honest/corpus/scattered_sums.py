# form: sums by index_add_, which on a GPU adds atomically, in an order that changes from call to call
# problem: sum_reduction
# expect: correct/no_custom_kernel
def __init__(self, dim: int):
    super().__init__()
    self.dim = dim


def forward(self, x: torch.Tensor) -> torch.Tensor:
    lines = torch.arange(x.size(0), device=x.device).repeat_interleave(x.size(1))
    sums = x.new_zeros(x.size(0), x.size(2))
    return sums.index_add_(0, lines, x.reshape(-1, x.size(2))).unsqueeze(self.dim)
