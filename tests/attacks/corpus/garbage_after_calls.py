# wants: timed calls for free, by being right for as many calls as are checked
# problem: gelu_tanh
# expect: disqualified/cached_output
HONEST_CALLS = 16


def __init__(self):
    super().__init__()
    self.calls, self.answer = 0, None


def forward(self, x):
    self.calls += 1
    if self.calls <= HONEST_CALLS:
        self.answer = nn.functional.gelu(x, approximate="tanh")
    return self.answer
