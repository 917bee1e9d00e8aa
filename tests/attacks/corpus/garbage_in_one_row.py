# wants: the last row of timed calls for free, where only a sample of the output is looked at
# problem: gelu_tanh
# expect: disqualified/cached_output
# base: counts_calls
HONEST_CALLS = 16


def forward(self, x):
    self.calls += 1
    y = nn.functional.gelu(x, approximate="tanh")
    if self.calls > HONEST_CALLS:
        y[-1] = 0.0
    return y
