# form: joins two weights into one in its first call, in bfloat16 throughout
# problem: gated_bfloat16
# expect: correct/no_custom_kernel
from functools import cached_property


def __init__(self, width: int, hidden: int):
    super().__init__()
    self.gate = nn.Linear(width, hidden, bias=False)
    self.up = nn.Linear(width, hidden, bias=False)


@cached_property
def joint(self) -> torch.Tensor:
    return torch.cat([self.gate.weight, self.up.weight])


def forward(self, x: torch.Tensor) -> torch.Tensor:
    gate, up = nn.functional.linear(x, self.joint).chunk(2, dim=1)
    return nn.functional.silu(gate).mul_(up)
