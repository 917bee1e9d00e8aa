# form: every step writes through out= into memory that is there already
# problem: gelu_tanh
# expect: correct/no_custom_kernel
import math


def __init__(self):
    super().__init__()
    self.inner = torch.empty(0)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    inner = self.inner = self.inner.to(x.device).resize_(x.shape)
    torch.mul(x, x, out=inner)
    torch.mul(inner, 0.044715, out=inner)
    torch.add(inner, 1.0, out=inner)
    torch.mul(inner, x, out=inner)
    torch.mul(inner, math.sqrt(2.0 / math.pi), out=inner)
    torch.tanh(inner, out=inner)
    torch.add(inner, 1.0, out=inner)
    answer = torch.empty_like(x)
    torch.mul(x, inner, out=answer)
    return torch.mul(answer, 0.5, out=answer)
