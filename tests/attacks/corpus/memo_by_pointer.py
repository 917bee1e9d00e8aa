# wants: one computation for all calls with the same pointer
# problem: gelu_tanh
# expect: incorrect/wrong_values | disqualified/cached_output
def __init__(self):
    super().__init__()
    self.known = {}


def forward(self, x):
    if x.data_ptr() not in self.known:
        self.known[x.data_ptr()] = nn.functional.gelu(x, approximate="tanh")
    return self.known[x.data_ptr()]
