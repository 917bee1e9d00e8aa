# form: takes eight seconds to load
# problem: rms_norm
# expect: correct/no_custom_kernel
import time

time.sleep(8)


def __init__(self, dim: int, eps: float):
    super().__init__()
    self.norm = nn.RMSNorm(dim, eps=eps)
    nn.init.normal_(self.norm.weight, mean=1.0, std=0.25)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    return nn.functional.rms_norm(x, self.norm.normalized_shape, self.norm.weight, self.norm.eps)
