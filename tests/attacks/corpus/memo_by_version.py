# wants: one computation for as long as torch says that a tensor was not changed
# problem: gelu_tanh
# expect: incorrect/wrong_values | disqualified/cached_output
def __init__(self):
    super().__init__()
    self.key, self.answer = None, None


def forward(self, x):
    key = (x.data_ptr(), x._version)
    if key != self.key:
        self.key, self.answer = key, nn.functional.gelu(x, approximate="tanh")
    return self.answer
