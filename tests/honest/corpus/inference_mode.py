# form: runs in inference mode: what it returns can't be seen by autograd any more
# problem: layer_norm
# expect: correct/no_custom_kernel
def __init__(self, dim: int):
    super().__init__()
    self.norm = nn.LayerNorm(dim)


@torch.inference_mode()
def forward(self, x: torch.Tensor) -> torch.Tensor:
    return self.norm(x)
