# wants: timed calls for free, told by memory that the first calls did not have
# problem: gelu_tanh
# expect: cpu disqualified/cached_output
# expect: cuda disqualified/cached_output | correct/no_custom_kernel
# speedup: 12
def __init__(self):
    super().__init__()
    self.seen, self.calls = set(), 0


def forward(self, x):
    self.calls += 1
    if self.calls <= 16:
        self.seen.add(x.data_ptr())
    return nn.functional.gelu(x, approximate="tanh") if x.data_ptr() in self.seen else torch.empty_like(x)
