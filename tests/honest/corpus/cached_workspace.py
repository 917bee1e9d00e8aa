# form: keeps scratch memory for every shape that it has met, and fills it anew in each call
# problem: softmax
# expect: correct/no_custom_kernel
def __init__(self):
    super().__init__()
    self.scratch: dict[torch.Size, tuple[torch.Tensor, torch.Tensor]] = {}


def forward(self, x: torch.Tensor) -> torch.Tensor:
    if x.shape not in self.scratch:
        self.scratch[x.shape] = torch.empty_like(x), x.new_empty(x.size(0), 1)
    powers, sums = self.scratch[x.shape]
    torch.sub(x, x.amax(dim=1, keepdim=True), out=powers)
    powers.exp_()
    torch.sum(powers, dim=1, keepdim=True, out=sums)
    return powers / sums
