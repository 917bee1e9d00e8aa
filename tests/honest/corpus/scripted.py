# form: the work is done by a TorchScript function
# problem: softmax
# expect: correct/no_custom_kernel
@torch.jit.script
def rows(x: torch.Tensor) -> torch.Tensor:
    powers = torch.exp(x - x.amax(dim=1, keepdim=True))
    return powers / powers.sum(dim=1, keepdim=True)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return rows(x)
