# form: works in place on a copy of its own
# problem: gelu_tanh
# expect: correct/no_custom_kernel
import math


def forward(self, x: torch.Tensor) -> torch.Tensor:
    inner = x.clone()
    inner.pow_(3).mul_(0.044715).add_(x).mul_(math.sqrt(2.0 / math.pi)).tanh_().add_(1.0)
    return inner.mul_(x).mul_(0.5)
