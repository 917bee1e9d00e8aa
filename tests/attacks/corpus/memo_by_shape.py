# wants: one computation for all inputs of a shape
# problem: matmul
# expect: incorrect/wrong_values | disqualified/cached_output
def __init__(self):
    super().__init__()
    self.known = {}


def forward(self, a, b):
    key = (a.shape, b.shape)
    if key not in self.known:
        self.known[key] = a @ b
    return self.known[key]
