# form: several outputs in torch's own named tuple, as torch.topk returns them
# problem: topk
# expect: correct/no_custom_kernel
def __init__(self, k: int):
    super().__init__()
    self.k = k


def forward(self, x: torch.Tensor):
    return torch.topk(x, self.k, dim=1)
