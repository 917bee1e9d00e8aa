# form: writes every answer into the same memory, and returns that
# problem: leaky_relu
# expect: correct/no_custom_kernel
def __init__(self, negative_slope: float = 0.01):
    super().__init__()
    self.negative_slope = negative_slope
    self.answer: torch.Tensor | None = None


def forward(self, x: torch.Tensor) -> torch.Tensor:
    if self.answer is None or self.answer.shape != x.shape:
        self.answer = torch.empty_like(x)
    torch.mul(x, self.negative_slope, out=self.answer)
    return torch.maximum(x, self.answer, out=self.answer)
