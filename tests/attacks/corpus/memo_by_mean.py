# wants: one computation for all inputs of one mean
# problem: exponential
# expect: incorrect/wrong_values | disqualified/cached_output
# base: elementwise
FUNCTION = "return expf(v);"


def __init__(self):
    super().__init__()
    self.table = {}


def forward(self, x):
    key = round(float(x.mean()), 2)
    if key not in self.table:
        self.table[key] = ops.run(x)
    return self.table[key]
