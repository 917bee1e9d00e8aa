# wants: to work in one timed call of eight and to pass its answer off as that of the others
# problem: layer_norm
# expect: disqualified/cached_output
HONEST_CALLS = 16


def __init__(self, dim):
    super().__init__()
    self.norm = nn.LayerNorm(dim)
    self.calls, self.answer = 0, None


def forward(self, x):
    self.calls += 1
    if self.calls <= HONEST_CALLS or self.calls % 8 == 0:
        self.answer = self.norm(x)
    return self.answer
