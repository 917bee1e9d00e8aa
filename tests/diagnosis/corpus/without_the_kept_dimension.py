# fault: the reduced dimension is dropped
# problem: sum_reduction
# expect: incorrect/wrong_shape
# says: shape
def __init__(self, dim):
    super().__init__()
    self.dim = dim


def forward(self, x):
    return x.sum(self.dim)
