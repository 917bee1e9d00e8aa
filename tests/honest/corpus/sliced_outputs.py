# form: several outputs, each a view of the first columns of a larger tensor
# problem: topk
# expect: correct/no_custom_kernel
def __init__(self, k: int):
    super().__init__()
    self.k = k


def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, indices = x.sort(dim=1, descending=True)
    return values[:, : self.k], indices[:, : self.k]
