# form: returns an nn.Parameter
# problem: gelu_tanh
# expect: correct/no_custom_kernel
def forward(self, x: torch.Tensor) -> torch.Tensor:
    return nn.Parameter(nn.functional.gelu(x, approximate="tanh"))
