# fault: a cache is filled by the first call and used by the second
# problem: matmul
# expect: incorrect/nondeterministic
# says: race
def __init__(self):
    super().__init__()
    self.transposed = False


def forward(self, a, b):
    self.transposed = not self.transposed
    left = a if self.transposed else a.flip(1)
    return left @ b
