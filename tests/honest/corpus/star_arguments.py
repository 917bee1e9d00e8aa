# form: forward() and the constructor take whatever comes
# problem: matmul
# expect: correct/no_custom_kernel
def __init__(self, *arguments, **options):
    super().__init__()
    self.arguments, self.options = arguments, options


def forward(self, *factors, **options):
    assert not options
    return torch.linalg.multi_dot(factors)
