# form: its answer's memory is a buffer, allocated in the constructor for the one shape that it will meet
# problem: rms_norm
# expect: correct/no_custom_kernel
rows = 32768


dim = 8192


def __init__(self, dim: int, eps: float):
    super().__init__()
    self.norm = nn.RMSNorm(dim, eps=eps)
    nn.init.normal_(self.norm.weight, mean=1.0, std=0.25)
    self.register_buffer("answer", torch.empty(rows, dim), persistent=False)


def forward(self, x: torch.Tensor) -> torch.Tensor:
    answer = self.answer[: x.size(0)]
    answer.copy_(x * torch.rsqrt(x.square().mean(dim=1, keepdim=True) + self.norm.eps) * self.norm.weight)
    return answer
