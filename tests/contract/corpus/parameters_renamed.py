# form: parameters under names of its own, one of them transposed
# problem: parameters_renamed
# expect: correct/no_custom_kernel
def __init__(self, width, hidden):
    super().__init__()
    drawn = nn.Linear(width, hidden)
    self.matrix = nn.Parameter(drawn.weight.detach().T.contiguous())
    self.offset = nn.Parameter(drawn.bias.detach())
    self.gain = nn.Parameter(torch.randn(hidden))


def forward(self, x):
    y = x @ self.matrix + self.offset
    mean = y.mean(1, keepdim=True)
    variance = (y * y).mean(1, keepdim=True) - mean * mean
    return (y - mean) * torch.rsqrt(variance + 1e-5) * self.gain
