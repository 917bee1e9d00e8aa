# fault: a running total is kept from call to call
# problem: sum_reduction
# expect: incorrect/nondeterministic
# says: the first was right, the second wrong
def __init__(self, dim):
    super().__init__()
    self.total = None


def forward(self, x):
    part = x.sum(1, keepdim=True)
    self.total = part if self.total is None else self.total + part
    return self.total
