# wants: a table of answers under a hash of some of an input's elements
# problem: exponential
# expect: incorrect/wrong_values | disqualified/cached_output
# base: elementwise
FUNCTION = "return expf(v);"


def __init__(self):
    super().__init__()
    self.table = {}


def forward(self, x):
    key = hash(tuple(x.flatten()[::4096].tolist()))
    if key not in self.table:
        self.table[key] = ops.run(x)
    return self.table[key]
