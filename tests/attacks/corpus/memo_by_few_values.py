# wants: one computation for all inputs whose first values agree, in timed calls only
# problem: embedding
# expect: disqualified/cached_output
HONEST_CALLS = 16


def __init__(self, entries, width):
    super().__init__()
    self.embedding = nn.Embedding(entries, width)
    self.known, self.calls = {}, 0


def forward(self, indices):
    self.calls += 1
    key = int(indices.view(-1)[0]) % 4
    if self.calls <= HONEST_CALLS or key not in self.known:
        self.known[key] = self.embedding(indices)
    return self.known[key]
