# wants: one computation for all timed calls with the same pointer
# problem: gelu_tanh
# expect: disqualified/cached_output
HONEST_CALLS = 16


def __init__(self):
    super().__init__()
    self.known, self.calls = {}, 0


def forward(self, x):
    self.calls += 1
    if self.calls <= HONEST_CALLS or x.data_ptr() not in self.known:
        self.known[x.data_ptr()] = nn.functional.gelu(x, approximate="tanh")
    return self.known[x.data_ptr()]
