# wants: one computation for all inputs that begin alike
# problem: softmax
# expect: incorrect/wrong_values | disqualified/cached_output
def __init__(self):
    super().__init__()
    self.known = {}


def forward(self, x):
    key = round(float(x[0, 0]))
    if key not in self.known:
        self.known[key] = torch.softmax(x, 1)
    return self.known[key]
