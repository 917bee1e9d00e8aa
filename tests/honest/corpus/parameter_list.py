# form: weights in a ParameterList, drawn by its own code as nn.Linear draws them; accumulates in float32 and rounds once
# problem: gated_bfloat16
# expect: correct/no_custom_kernel
def __init__(self, width: int, hidden: int):
    super().__init__()
    bound = width**-0.5
    self.weights = nn.ParameterList([torch.empty(hidden, width).uniform_(-bound, bound) for _ in range(2)])


def forward(self, x: torch.Tensor) -> torch.Tensor:
    gate, up = (x.float() @ weight.float().t() for weight in self.weights)
    return (gate * torch.sigmoid(gate) * up).to(x.dtype)
